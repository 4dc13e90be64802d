//go:build unix

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// server is one of a play's servers.
type server interface {
	Addr() string
	Pause() error
	Resume() error
	Kill()
	start(ctx context.Context) error // with the data that save has saved, else empty
}

// servers are those of one play at a time. Their state is that of the last step.
type servers struct {
	all     []*serverState
	what    string
	closers []func() error
}

// state is what has been done to a server.
type state int

const (
	up state = iota
	hung
	stopped
)

// serverState is a server and what has been done to it.
type serverState struct {
	server
	state state
	// moved: its address leads to another server, which took over from it or is a spare one.
	moved string
}

func (s *serverState) good() bool { return s.moved != "" || s.state == up }

// Addr is where the address of the server leads.
func (s *serverState) Addr() string { return cmp.Or(s.moved, s.server.Addr()) }

// startServers starts the servers: embedded ones, or processes. A library gives them clocks and
// disks of their own.
func startServers(ctx context.Context, o Options, library string) (*servers, error) {
	f := &servers{}
	start := f.startProcesses
	if o.Embedded {
		start = f.startEmbedded
	}
	if err := start(ctx, o, library); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *servers) startProcesses(ctx context.Context, o Options, library string) (err error) {
	config := redisproc.Config{Binary: o.Binary, Args: o.Args}
	if o.persist {
		// What a killed process has written stays, without a sync for each command.
		config.Args = append([]string{"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"}, o.Args...)
	}
	if f.what, err = config.Product(); err != nil {
		return err
	}
	for range o.Servers {
		s, own := &realServer{config: config, persists: o.persist}, config
		f.closers = append(f.closers, s.close)
		if library != "" {
			if s.machine, err = newMachine(library); err != nil {
				return err
			}
			own.Env = s.machine.env
		}
		if s.Server, err = redisproc.Start(ctx, own); err != nil {
			if s.machine != nil && ctx.Err() == nil {
				return fmt.Errorf("%w: the server doesn't start with the library for it", ErrNoClocks)
			}
			return err
		}
		if s.machine != nil && !s.machine.loaded() {
			return fmt.Errorf("%w: the server didn't load the library for it", ErrNoClocks)
		}
		f.all = append(f.all, &serverState{server: s})
	}
	return nil
}

func (f *servers) startEmbedded(_ context.Context, o Options, _ string) error {
	cluster, err := embedded.Start(o.Servers)
	if err != nil {
		return err
	}
	f.what, f.closers = "embedded servers", append(f.closers, cluster.Close)
	for i := range o.Servers {
		f.all = append(f.all, &serverState{server: embeddedServer{cluster.Server(i)}})
	}
	return nil
}

func (f *servers) close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// heal ends what steps have done.
func (f *servers) heal(ctx context.Context) error {
	for _, s := range f.all {
		s.moved = ""
		if real, ok := s.server.(*realServer); ok {
			if err := real.heal(); err != nil {
				return err
			}
		}
		if err := errors.Join(s.does(ctx, wake), s.does(ctx, start)); err != nil {
			return err
		}
	}
	return nil
}

// does hangs, wakes, stops or starts the server, unless it has been already.
func (s *serverState) does(ctx context.Context, do verb) (err error) {
	next := s.state
	switch from := s.state; {
	case do == hang && from == up:
		next, err = hung, s.Pause()
	case do == wake && from == hung:
		next, err = up, s.Resume()
	case do == stop && from != stopped:
		next = stopped
		s.Kill()
	case do == start && from == stopped:
		next, err = up, s.start(ctx)
	}
	if err == nil {
		s.state = next
	}
	return err
}

// command sends a command to a server that works.
func (s *serverState) command(args ...string) error {
	if !s.good() {
		return nil
	}
	_, err := redisproc.AskAt(s.Addr(), args...)
	return err
}

// addrs are the addresses of the server and of its replicas that are in step.
func (s *serverState) addrs() []string {
	all := []string{s.Addr()}
	if real, ok := s.server.(*realServer); ok {
		for _, r := range real.replicas {
			if !r.lags {
				all = append(all, r.Addr())
			}
		}
	}
	return all
}

// real returns the server process.
func (s *serverState) real() (*realServer, error) {
	if real, ok := s.server.(*realServer); ok {
		return real, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrOptions, errEmbedded)
}

var errEmbedded = errors.New("embedded servers have no data on a disk, clocks, replicas and other addresses")

// realServer is a server process.
type realServer struct {
	*redisproc.Server
	persists bool             // all that it has answered outlives its process
	config   redisproc.Config // of others like it, with this machine's clock
	machine  *machine         // nil: it has this machine's clock and disk
	spare    *redisproc.Server
	replicas []*replica
}

func (s *realServer) close() error {
	err := s.heal()
	for _, server := range []*redisproc.Server{s.Server, s.spare} {
		if server != nil {
			err = errors.Join(err, server.Close())
		}
	}
	if s.machine != nil {
		err = errors.Join(err, s.machine.close())
	}
	return err
}

// heal ends the faults that only a process has.
func (s *realServer) heal() error {
	var errs []error
	for _, r := range s.replicas {
		errs = append(errs, r.link.Close(), r.Close())
	}
	s.replicas = nil
	if s.spare != nil {
		_, err := s.spare.MustAsk("FLUSHALL")
		errs = append(errs, err)
	}
	if s.machine != nil {
		s.machine.set(0)
	}
	return errors.Join(errs...)
}

// start starts it with what is on its disk, which has lost what was not synced unless it persists.
func (s *realServer) start(ctx context.Context) error {
	if s.machine != nil && !s.persists {
		if err := s.machine.cutPower(s.Dir()); err != nil {
			return err
		}
	}
	if err := s.Restart(ctx); err != nil {
		return err
	}
	// The next start is empty again.
	if err := os.Remove(filepath.Join(s.Dir(), "dump.rdb")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// wipe removes what a stopped server has on its disk.
func (s *realServer) wipe() error {
	var errs []error
	for _, pattern := range []string{"appendonly*", "dump.rdb"} {
		files, err := filepath.Glob(filepath.Join(s.Dir(), pattern))
		errs = append(errs, err)
		for _, file := range files {
			errs = append(errs, os.RemoveAll(file))
		}
	}
	return errors.Join(errs...)
}

// other returns the address of a spare server. It is empty at first, and runs on when its play is
// over, so that it has been up for long.
func (s *realServer) other(ctx context.Context) (addr string, err error) {
	if s.spare == nil {
		if s.spare, err = redisproc.Start(ctx, s.config); err != nil {
			return "", err
		}
	}
	return s.spare.Addr(), nil
}

// fill writes into a server until it has evicted a key, as its policy says.
func (s *realServer) fill(key string) error {
	used, err := s.Info("used_memory")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(used)
	if err != nil {
		return err
	}
	if _, err := s.MustAsk("CONFIG", "SET", "maxmemory", strconv.Itoa(n+3<<20)); err != nil {
		return err
	}
	for i := range 100 {
		if there, err := s.MustAsk("EXISTS", key); err != nil || there == ":0" {
			return err
		}
		if _, err := s.MustAsk("SET", fmt.Sprint("other", i), strings.Repeat("x", 200<<10), "EX", "86400"); err != nil {
			return err
		}
	}
	return fmt.Errorf("box: %s has evicted everything but the lock", s.Addr())
}

// replica is a replica of a server, and the link to its master.
type replica struct {
	*redisproc.Server
	link *redisproc.Link
	lags bool
}

// follow adds a replica that is in step.
func (s *realServer) follow(ctx context.Context) error {
	link, err := redisproc.NewLink(s.Addr())
	if err != nil {
		return err
	}
	server, err := redisproc.Start(ctx, s.config)
	if err != nil {
		return errors.Join(err, link.Close())
	}
	r := &replica{Server: server, link: link}
	s.replicas = append(s.replicas, r)
	if _, err := s.MustAsk("CONFIG", "SET", "repl-diskless-sync-delay", "0"); err != nil {
		return err
	}
	host, port, _ := strings.Cut(link.Addr(), ":")
	if _, err := r.MustAsk("REPLICAOF", host, port); err != nil {
		return err
	}
	return until(ctx, r.inStep)
}

func (r *replica) inStep() bool {
	status, err := r.Info("master_link_status")
	return err == nil && status == "up"
}

// lag has a replica get nothing more.
func (s *realServer) lag() {
	for _, r := range s.replicas {
		if !r.lags {
			r.lags = true
			r.link.Drop(redisproc.Replies)
			return
		}
	}
}

// failOver has the first replica that lags take over. The others follow it.
func (s *realServer) failOver(ctx context.Context) (addr string, err error) {
	i := slices.IndexFunc(s.replicas, func(r *replica) bool { return r.lags })
	if i < 0 {
		return "", fmt.Errorf("%w: there is no replica that lags, to take over", ErrOptions)
	}
	master := s.replicas[i]
	if _, err := master.MustAsk("REPLICAOF", "NO", "ONE"); err != nil {
		return "", err
	}
	for _, r := range s.replicas {
		if r == master {
			continue
		}
		r.link.Cut()
		r.link.Switch(master.Addr())
		r.link.Reopen()
		if err := until(ctx, r.inStep); err != nil {
			return "", err
		}
		err := until(ctx, func() bool {
			n, err := master.Info("connected_slaves")
			return err == nil && n == "1"
		})
		if err != nil {
			return "", err
		}
	}
	return master.Addr(), nil
}

// until waits until a condition is true about which no message is sent, for as long as a driver's answer may take.
func until(ctx context.Context, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerLimit, errNoAnswer)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// embeddedServer is a server in this process.
type embeddedServer struct{ *embedded.Server }

func (s embeddedServer) Pause() error  { s.Server.Pause(); return nil }
func (s embeddedServer) Resume() error { s.Server.Resume(); return nil }
func (s embeddedServer) Kill()         { s.Stop() }

// start tries again for a while if a connection of another process has got the port meanwhile.
func (s embeddedServer) start(ctx context.Context) (err error) {
	_ = until(ctx, func() bool {
		err = s.Start()
		return !errors.Is(err, syscall.EADDRINUSE)
	})
	return err
}
