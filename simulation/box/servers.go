//go:build unix

package box

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// server is one of a play's servers.
type server interface {
	Addr() string
	hang() error
	wake() error
	stop()
	start(ctx context.Context) error // with the data that save has saved, else empty
}

// servers are those of one play at a time. Their state is that of the last step.
type servers struct {
	all   []*serverState
	close func() error
	saves bool // they can come back with old data
	what  string
}

// serverState is a server and what has been done to it.
type serverState struct {
	server
	hung, stopped bool
}

func (s *serverState) good() bool { return !s.hung && !s.stopped }

// startServers starts n processes of the binary, or embedded servers if it is "".
func startServers(ctx context.Context, n int, binary string) (*servers, error) {
	if binary == "" {
		return startEmbedded(n)
	}
	f := &servers{saves: true}
	var closers []func() error
	f.close = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	for range n {
		s, err := redisproc.Start(ctx, redisproc.Config{Binary: binary})
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		closers = append(closers, s.Close)
		f.all = append(f.all, &serverState{server: realServer{s}})
	}
	what, err := f.all[0].server.(realServer).Product()
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.what = what
	return f, nil
}

func startEmbedded(n int) (*servers, error) {
	cluster, err := embedded.Start(n)
	if err != nil {
		return nil, err
	}
	f := &servers{close: cluster.Close, what: "embedded servers"}
	for i := range n {
		f.all = append(f.all, &serverState{server: embeddedServer{cluster.Server(i)}})
	}
	return f, nil
}

// heal ends what steps have done.
func (f *servers) heal(ctx context.Context) error {
	for _, s := range f.all {
		if err := errors.Join(s.wakes(), s.starts(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (s *serverState) hangs() error {
	if !s.good() {
		return nil
	}
	s.hung = true
	return s.hang()
}

func (s *serverState) wakes() error {
	if !s.hung {
		return nil
	}
	s.hung = false
	return s.wake()
}

func (s *serverState) stops() {
	if !s.stopped {
		s.stopped, s.hung = true, false
		s.stop()
	}
}

func (s *serverState) starts(ctx context.Context) error {
	if !s.stopped {
		return nil
	}
	s.stopped = false
	return s.start(ctx)
}

// saves saves its data for the next start.
func (s *serverState) saves() error {
	if !s.good() {
		return nil
	}
	return command(s.Addr(), "SAVE")
}

func (s *serverState) flushes() error {
	if !s.good() {
		return nil
	}
	return command(s.Addr(), "FLUSHALL")
}

// command sends a command without arguments to a server.
func command(addr, name string) error {
	conn, err := net.DialTimeout("tcp", addr, endLimit)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(endLimit))
	if _, err := fmt.Fprintf(conn, "*1\r\n$%d\r\n%s\r\n", len(name), name); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+OK") {
		err = fmt.Errorf("box: %s answered %s to %s", addr, strings.TrimSpace(line), name)
	}
	return err
}

// realServer is a server process.
type realServer struct{ *redisproc.Server }

func (s realServer) hang() error { return s.Pause() }
func (s realServer) wake() error { return s.Resume() }
func (s realServer) stop()       { s.Kill() }

func (s realServer) start(ctx context.Context) error {
	if err := s.Restart(ctx); err != nil {
		return err
	}
	// The next start is empty again.
	if err := os.Remove(filepath.Join(s.Dir(), "dump.rdb")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// embeddedServer is a server in this process.
type embeddedServer struct{ *embedded.Server }

func (s embeddedServer) hang() error { s.Pause(); return nil }
func (s embeddedServer) wake() error { s.Resume(); return nil }
func (s embeddedServer) stop()       { s.Stop() }

// start tries again for a while if a connection of another process has got the port meanwhile.
func (s embeddedServer) start(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(answerLimit); ; {
		err := s.Start()
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(until) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
