//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Fleet is independent servers that break on request. A play gives each of its clients links of its own. For a test
// suite that has its own clients, StartFleet puts each server behind one link that all clients share: then a Fleet is
// an http.Handler that takes steps. docs/reference/servers.md is its manual.
type Fleet struct {
	servers []*server
	product string
	closers []func() error

	// What steps are about, in a play: its lock and TTL.
	key    string
	ttl    time.Duration
	played int // how many plays it had

	live   context.Context // of a Fleet for others: ends the starts of servers
	mu     sync.Mutex      // what is below, and a Fleet for others
	closed bool
}

// Member is a server of a Fleet for others.
type Member struct {
	// Name is a letter: A, B, C.
	Name string `json:"name"`
	// Address is where clients reach it, host:port. It never changes.
	Address string `json:"address"`
	// State is "up", "hung" or "stopped".
	State string `json:"state"`
	// Faults are what else is wrong with it: the steps that go on until others end them, as in "slow A 200ms".
	Faults Schedule `json:"faults"`
}

// StartFleet starts the servers that o.Servers, 1 to 9, and o.Binary, o.Args and o.Embedded describe. They
// get clocks of their own where that is possible. The end of ctx ends the starts of servers, now and later, and
// nothing else.
//
// The error Is ErrOptions, or redisproc.ErrMissing if there is no server program, or that of ctx. Then
// nothing is left behind.
func StartFleet(ctx context.Context, o Options) (*Fleet, error) {
	if o.Servers < 1 || o.Servers > len(letters) {
		return nil, fmt.Errorf("%w: %d servers, want 1 to %d", ErrOptions, o.Servers, len(letters))
	}
	own, err := newClocks(ctx, o)
	if err != nil {
		return nil, err
	}
	f, err := startFleet(ctx, o, own)
	if err != nil {
		return nil, errors.Join(err, own.close())
	}
	f.live, f.closers = ctx, append(f.closers, own.close)
	for _, s := range f.servers {
		if _, err := s.link(""); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// startFleet starts servers without links, with the clocks if there are some.
func startFleet(ctx context.Context, o Options, own clocks) (f *Fleet, err error) {
	f = &Fleet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if o.Embedded {
		cluster, err := embedded.Start(o.Servers)
		if err != nil {
			return f, err
		}
		f.product, f.closers = "embedded servers", append(f.closers, cluster.Close)
		for i := range o.Servers {
			f.servers = append(f.servers, &server{process: embeddedServer{cluster.Server(i)}, state: up})
		}
		return f, nil
	}
	config := redisproc.Config{Binary: o.Binary, Args: o.Args}
	if f.product, err = config.Product(); err != nil {
		return f, err
	}
	for range o.Servers {
		s, with := &realServer{config: config, none: own.none}, config
		f.closers = append(f.closers, s.close)
		if own.dir != "" {
			if s.machine, err = newMachine(own.dir); err != nil {
				return f, err
			}
			with.Env = s.machine.env
		}
		if s.Server, err = redisproc.Start(ctx, with); err != nil {
			return f, err
		}
		f.servers = append(f.servers, &server{process: s, state: up})
	}
	return f, nil
}

// Product is what the servers are, such as "redis 7.0.15" or "embedded servers".
func (f *Fleet) Product() string { return f.product }

// Members returns the servers of a Fleet for others.
func (f *Fleet) Members() []Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members()
}

func (f *Fleet) members() (all []Member) {
	for i, s := range f.servers {
		faults := append(append(Schedule{}, s.faults...), s.links[0].faults...)
		all = append(all, Member{letters[i : i+1], s.links[0].Addr(), string(s.state), faults})
	}
	return all
}

// Close ends the servers and their links. A second call does nothing.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	for _, s := range f.servers {
		s.unlink()
	}
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// do carries out a step of servers or links. The error Is errUnfit if some servers are not in a state for it: the
// others have done it.
func (f *Fleet) do(ctx context.Context, step Step) error {
	var unfit error
	on := step.Servers
	for i, s := range f.servers {
		if !strings.ContainsRune(on, rune(letters[i])) {
			continue
		}
		step.Servers = letters[i : i+1]
		if forms[step.Do] == serversLast {
			if err := s.do(ctx, step, f.key, f.ttl); errors.Is(err, errUnfit) {
				unfit = err
			} else if err != nil {
				return err
			}
			continue
		}
		for _, l := range s.links {
			if l.client == step.Client || step.Client == "" {
				if err := l.do(ctx, step, f.key, f.ttl); err != nil {
					return err
				}
			}
		}
	}
	return unfit
}

// heal ends what steps have done. What is lost stays lost.
func (f *Fleet) heal(ctx context.Context) error {
	for _, s := range f.servers {
		if err := s.heal(ctx); err != nil {
			return err
		}
	}
	return nil
}
