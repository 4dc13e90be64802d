//go:build unix

package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// process is where a server runs.
type process interface {
	Addr() string
	Pause() error
	Resume() error
	Kill()
	start(ctx context.Context) error // with the data that save has saved, else empty
}

// state is what has been done to a server.
type state string

const (
	up      state = "up"
	hung    state = "hung"
	stopped state = "stopped"
)

// server is a server and what has been done to it.
type server struct {
	process
	state state
	// moved: its address leads to another server, which took over from it or is a spare one.
	moved string
	links []*link
	// faults are those that it has, but for its state and those of its links.
	faults Schedule
}

func (s *server) good() bool { return s.moved != "" || s.state == up }

// Addr is where the address of the server leads.
func (s *server) Addr() string { return cmp.Or(s.moved, s.process.Addr()) }

// link adds a link for a client.
func (s *server) link(client string) (*link, error) {
	l, err := redisproc.NewLink(s.Addr())
	if err != nil {
		return nil, err
	}
	s.links = append(s.links, &link{Link: l, client: client})
	return s.links[len(s.links)-1], nil
}

// unlink ends all links.
func (s *server) unlink() {
	for _, l := range s.links {
		_ = l.Close()
	}
	s.links = nil
}

// leads has new connections to the server lead to an address, or back to the server if it is "".
func (s *server) leads(addr string) {
	s.moved = addr
	for _, l := range s.links {
		l.Switch(s.Addr())
	}
}

// errUnfit: a server is in no state for a step.
var errUnfit = errors.New("box: not now")

func (s *server) unfit() error {
	return fmt.Errorf("%w: the server is %s", errUnfit, s.state)
}

// do carries out a fault of the server, or ends it. The key and the TTL are those of the lock that the step is about.
func (s *server) do(ctx context.Context, step Step, key string, ttl time.Duration) (err error) {
	defer func() {
		if err == nil {
			s.faults = s.faults.after(step)
		}
	}()
	switch step.Do {
	case hang, wake, stop, start:
		return s.turn(ctx, step.Do)
	case flush:
		return s.command("FLUSHALL")
	case await, gone:
		return s.awaits(ctx, key, map[verb]string{await: ":1", gone: ":0"}[step.Do], ttl)
	case home:
		s.leads("")
		return nil
	}
	real, ok := s.process.(*realServer)
	if !ok {
		return fmt.Errorf("%w: embedded servers have no data on a disk, clocks, replicas and other addresses", ErrOptions)
	}
	switch step.Do {
	case save:
		return s.command("SAVE")
	case evict:
		return real.fill(key)
	case move:
		addr, err := real.other(ctx)
		s.leads(addr)
		return err
	case follow:
		return real.follow(ctx)
	case lag:
		real.lag()
		return nil
	case fail:
		master := real.lagging()
		if master == nil {
			return fmt.Errorf("%w: there is no replica that lags, to take over", errUnfit)
		}
		_ = s.turn(ctx, stop)
		addr, err := real.failOver(ctx, master)
		s.leads(addr)
		return err
	}
	if real.machine == nil {
		return real.none
	}
	real.machine.set(map[verb]time.Duration{ahead: cmp.Or(step.By, 2*ttl), behind: -cmp.Or(step.By, 10*ttl), right: 0}[step.Do])
	return nil
}

// turn hangs, wakes, stops or starts the server, unless that is done.
func (s *server) turn(ctx context.Context, do verb) (err error) {
	next := map[verb]state{hang: hung, wake: up, stop: stopped, start: up}[do]
	switch from := s.state; {
	case from == next:
		return nil
	case do == hang && from == up:
		err = s.Pause()
	case do == wake && from == hung:
		err = s.Resume()
	case do == stop:
		s.Kill()
	case do == start && from == stopped:
		err = s.start(ctx)
	default:
		return s.unfit()
	}
	if err == nil {
		s.state = next
	}
	return err
}

// command sends a command to a server that works.
func (s *server) command(args ...string) error {
	if !s.good() {
		return s.unfit()
	}
	_, err := redisproc.AskAt(s.Addr(), args...)
	return err
}

// awaits waits until so many of the lock's keys are on the server and on its replicas that are in step, but not for
// longer than a TTL: a client may use other keys.
func (s *server) awaits(ctx context.Context, key, keys string, ttl time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	all := []string{s.Addr()}
	if real, ok := s.process.(*realServer); ok {
		for _, r := range real.replicas {
			if !r.lags {
				all = append(all, r.Addr())
			}
		}
	}
	for _, addr := range all {
		_ = until(limited, func() bool {
			reply, err := redisproc.AskAt(addr, "EXISTS", key)
			return err == nil && reply == keys
		})
	}
	return context.Cause(ctx)
}

// heal ends what steps have done.
func (s *server) heal(ctx context.Context) error {
	for _, l := range s.links {
		if err := l.do(ctx, Step{Do: heal}, "", 0); err != nil {
			return err
		}
	}
	s.leads("")
	s.faults = nil
	if real, ok := s.process.(*realServer); ok {
		if err := real.heal(); err != nil {
			return err
		}
	}
	for _, do := range []verb{wake, start} {
		if err := s.turn(ctx, do); err != nil && !errors.Is(err, errUnfit) {
			return err
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
