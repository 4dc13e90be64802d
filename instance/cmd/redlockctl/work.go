package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/once"
)

// workFlags are those of all that run a command.
func workFlags(flags *flag.FlagSet, o *options) {
	timeVar(flags, &o.ttl, "ttl", "how long the lock lives unless it is extended, which it is while the command runs (default 10s)")
	timeVar(flags, &o.grace, "grace", "how long before the lease's end a command gets SIGTERM, if the lease can't be extended (default: a third of -ttl)")
	host, _ := os.Hostname() // without it the owner has no host
	flags.StringVar(&o.owner, "owner", ownerOn(host, os.Getpid()), "a `name` that inspect shows to others")
}

// ownerOn cuts a long host's name, because an owner has at most 64 characters. It is empty if the name can't be in it.
func ownerOn(host string, pid int) string {
	owner := fmt.Sprintf("redlockctl:%.40s:%d", host, pid)
	if strings.ContainsFunc(owner, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return owner
}

func lockFlags(flags *flag.FlagSet, o *options) {
	workFlags(flags, o)
	timeVar(flags, &o.wait, "wait", "the longest `time` to wait for the lock (default: forever)")
	flags.BoolVar(&o.try, "try", false, "try once, and don't wait")
	flags.BoolVar(&o.quiet, "quiet", false, "say nothing if the lock is taken: the exit code says it")
	flags.IntVar(&o.places, "n", 0, "let up to `n` commands run at once: the keys are KEY/1 to KEY/n, and each is a lock")
}

// runLock runs the command under one lease on all keys, or on one of the places of a key.
func runLock(ctx context.Context, c *client, o *options, s streams) error {
	switch {
	case o.try && o.wait > 0:
		return badUsage("-try doesn't wait, and -wait is %v; give one of them", o.wait)
	case o.places < 0 || o.places > anyof.Max:
		return badUsage("-n is %d, want 1 to %d", o.places, anyof.Max)
	case o.places > 0 && len(o.keys) > 1:
		return badUsage("-n is for one key, and there are %d", len(o.keys))
	}
	do, keys := c.DoAll, o.keys
	if o.places > 0 {
		do, keys = func(ctx context.Context, keys []string, work func(context.Context, *quorum.Lease) error) error {
			return anyof.Do(ctx, c.Coordinator, keys, work)
		}, nil
		for i := range o.places {
			keys = append(keys, fmt.Sprintf("%s/%d", o.keys[0], i+1))
		}
	}
	err := runWork(ctx, o, s, func(ctx context.Context, r *runner) error {
		return do(ctx, keys, func(_ context.Context, lease *quorum.Lease) error {
			return r.run(lease, strings.Join(lease.Keys(), "\n"))
		})
	})
	if o.quiet && exitOf(err) == exitTaken {
		return exitError{code: exitTaken} // cron would mail a text
	}
	return err
}

func onceFlags(flags *flag.FlagSet, o *options) {
	workFlags(flags, o)
	timeVar(flags, &o.every, "every", "the job is due at each full `period`, such as 1h: full hours, or 24h: midnight, in UTC")
	flags.Func("slot", "the `time` at which the job was due, the same on all machines, as in 2026-01-31T03:00:00Z", func(text string) (err error) {
		if o.slot, err = time.Parse(time.RFC3339, text); err != nil {
			return errors.New("want a time such as 2026-01-31T03:00:00Z; date -Iseconds -d 03:00 prints one")
		}
		return nil
	})
	timeVar(flags, &o.window, "window", "how late after that the job may begin (default: 5m, or four times -max-ttl)")
}

// runOnce runs the command if no process has begun the slot's job.
func runOnce(ctx context.Context, c *client, o *options, s streams) error {
	if (o.every != 0) == !o.slot.IsZero() {
		return badUsage("when was the job due? Give -every, or -slot, and not both")
	}
	slot := o.slot
	if o.every != 0 {
		slot = time.Now().UTC().Truncate(o.every)
	}
	job, err := once.New(c.Coordinator, o.keys[0], once.Config{Window: o.window})
	if err != nil {
		return err
	}
	return runWork(ctx, o, s, func(ctx context.Context, r *runner) error {
		err := job.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
			err := r.run(lease, lease.Key())
			if !r.began {
				_ = lease.Release(ctx) // another machine may be able to run the command
			}
			return err
		})
		if errors.Is(err, once.ErrDone) {
			return nil // as it should be, on all machines but one; cron would mail a text
		}
		return err
	})
}

// term is a leader's term as a tenure.
type term struct {
	context.Context
	number   fencing.Token
	election *election.Election
}

func (t term) Token() fencing.Token    { return t.number }
func (t term) Validity() time.Duration { return t.election.Validity() }

// Err is why the lease is over. The term ends before it.
func (t term) Err() error {
	if why := context.Cause(t.Context); !errors.Is(why, election.ErrTermOver) {
		return why
	}
	return nil
}

// runElect runs the command while this process leads, each time that it does until the command ends on its own.
func runElect(ctx context.Context, c *client, o *options, s streams) error {
	grace, _ := periods(o.grace, o.ttl)
	e, err := election.New(c.Coordinator, o.keys[0], election.Config{
		Margin: max(grace, time.Millisecond),
		Ended:  func(_ fencing.Token, _, err error) { s.say("elect: %v; waiting to lead again", err) },
	})
	if err != nil {
		return err
	}
	return runWork(ctx, o, s, func(ctx context.Context, r *runner) error {
		return e.Run(ctx, func(ctx context.Context, number fencing.Token) error {
			return r.run(term{ctx, number, e}, o.keys[0])
		})
	})
}
