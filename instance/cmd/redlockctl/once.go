package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
)

func onceFlags(flags *flag.FlagSet, o *options) {
	workFlags(flags, o)
	flags.DurationVar(&o.every, "every", 0, "the job is due at each full `period`, such as 1h: full hours, or 24h: midnight, in UTC")
	flags.StringVar(&o.slot, "slot", "", "the `time` at which the job was due, the same on all machines, as in 2026-01-31T03:00:00Z")
	flags.DurationVar(&o.window, "window", 0, "how late after that the job may begin (default: 5m, or four times -max-ttl)")
}

func checkOnce(o *options) error {
	switch {
	case (o.every != 0) == (o.slot != ""):
		return badUsage("when was the job due? Give -every, or -slot, and not both")
	case o.every < 0:
		return badUsage("%s is %v, want more than 0", o.name("every"), o.every)
	case o.window < 0:
		return badUsage("%s is %v, want more than 0", o.name("window"), o.window)
	}
	_, err := o.due()
	return err
}

// due is the slot: the time at which the job was due.
func (o *options) due() (time.Time, error) {
	if o.slot == "" {
		return time.Now().UTC().Truncate(o.every), nil
	}
	slot, err := time.Parse(time.RFC3339, o.slot)
	if err != nil {
		return slot, badUsage("%s is %s, want a time such as 2026-01-31T03:00:00Z; date -Iseconds -d 03:00 prints one", o.name("slot"), shown(o.slot))
	}
	return slot, nil
}

// runOnce runs the command if no process has begun the slot's job.
func runOnce(ctx context.Context, c *client, o *options, s streams) error {
	slot, err := o.due()
	if err != nil {
		return err
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
