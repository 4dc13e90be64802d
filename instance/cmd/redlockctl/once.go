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
