//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// realServer is a server process.
type realServer struct {
	*redisproc.Server
	config   redisproc.Config // of others like it, with this machine's clock
	machine  *machine         // nil: it has this machine's clock and disk
	none     error            // why it has no machine
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

// start starts it with what is on its disk, which has lost what was not synced.
func (s *realServer) start(ctx context.Context) error {
	if s.machine != nil {
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

// other returns the address of a spare server. It is empty at first, and runs on when its play is
// over, so that it has been up for a long time.
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

// lagging is the first replica that lags, nil without one.
func (s *realServer) lagging() *replica {
	for _, r := range s.replicas {
		if r.lags {
			return r
		}
	}
	return nil
}

// failOver has a replica take over. The others follow it.
func (s *realServer) failOver(ctx context.Context, master *replica) (addr string, err error) {
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
