package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
	"github.com/redquorum/redlock/quorum/once"
)

// workFlags are those of all that run a command.
func workFlags(flags *flag.FlagSet, o *options) {
	timeVar(flags, &o.ttl, "ttl", "how long the lock lives unless it is extended, which it is while the command runs (default 10s)")
	timeVar(flags, &o.grace, "grace", "how long before the lease's end a command gets SIGTERM, if the lease can't be extended (default: a third of -ttl)")
	host, _ := os.Hostname() // without it the owner has no host
	host = regexp.MustCompile("[^!-~]").ReplaceAllString(host, "-")
	// An owner has at most 64 characters, without blanks.
	flags.StringVar(&o.owner, "owner", fmt.Sprintf("redlockctl:%.40s:%d", host, os.Getpid()), "a `name` that inspect shows to others")
}

// margin is how long before the lease's end the command gets SIGKILL, which needs time to take effect.
func (o *options) margin() time.Duration { return max(o.grace/10, o.ttl/100) }

func lockFlags(flags *flag.FlagSet, o *options) {
	workFlags(flags, o)
	timeVar(flags, &o.wait, "wait", "the longest `time` to wait for the lock (default: forever)")
	flags.BoolVar(&o.try, "try", false, "try once, and say nothing if the lock is taken: the exit code shows it")
	flags.UintVar(&o.places, "n", 0, "let up to `n` commands run at once: the keys are KEY/1 to KEY/n, and each is a lock")
}

// runLock runs the command under one lease on all keys, or on one of the places of a key.
func runLock(ctx context.Context, c *client, o *options, s streams) error {
	do, keys := c.DoAll, o.keys
	if o.places > 0 {
		if o.places > anyof.Max || len(keys) > 1 {
			return badUsage("-n is %d with %d keys, want 1 to %d with one key", o.places, len(keys), anyof.Max)
		}
		do, keys = func(ctx context.Context, keys []string, work func(context.Context, *quorum.Lease) error) error {
			return anyof.Do(ctx, c.Coordinator, keys, work)
		}, nil
		for i := range o.places {
			keys = append(keys, fmt.Sprintf("%s/%d", o.keys[0], i+1))
		}
	}
	err := runWork(ctx, o, s, func(ctx context.Context, j *job) error {
		return do(ctx, keys, func(_ context.Context, lease *quorum.Lease) error { return j.run(lease) })
	})
	if o.try && exitOf(err) == exitTaken {
		return exitError{code: exitTaken} // cron would mail a text
	}
	return err
}

func onceFlags(flags *flag.FlagSet, o *options) {
	workFlags(flags, o)
	timeVar(flags, &o.every, "every", "the job is due at each full `period`, such as 1h: full hours, or 24h: midnight, in UTC")
	flags.Func("slot", "the `time` at which the job was due, the same on all machines, as in 2026-01-31T03:00:00Z; date -Iseconds -d 03:00 prints one", func(text string) (err error) {
		o.slot, err = time.Parse(time.RFC3339, text)
		return err
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
	due, err := once.New(c.Coordinator, o.keys[0], once.Config{Window: o.window})
	if err != nil {
		return err
	}
	return runWork(ctx, o, s, func(ctx context.Context, j *job) error {
		err := due.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
			err := j.run(lease)
			if j.cmd == nil {
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

// runElect runs the command while this process leads, each time that it does, until the command ends on its own or is
// told to end. Package election isn't used, because its function gets no lease.
func runElect(ctx context.Context, c *client, o *options, s streams) error {
	candidate, err := c.WithTerms(func(t *quorum.Terms) { t.MinValidity = o.grace }) // no term is over when it begins
	if err != nil {
		return err
	}
	return runWork(ctx, o, s, func(ctx context.Context, j *job) error {
		for {
			err := candidate.Do(ctx, o.keys[0], func(_ context.Context, lease *quorum.Lease) error { return j.run(lease) })
			var lost exitError
			if !errors.As(err, &lost) || lost.code != exitLost || !j.again() {
				return err
			}
			j.say("elect: %v; waiting to lead again", lost)
			// In this pause every other candidate that waits tries once or more.
			pause, cancel := context.WithTimeout(ctx, 2*c.Config().Lab.BackoffMax+c.Config().InstanceTimeout)
			<-pause.Done()
			cancel()
		}
	})
}
