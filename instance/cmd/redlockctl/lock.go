package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/redquorum/redlock/quorum"
)

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
	case o.places < 0 || o.places > quorum.MaxAny:
		return badUsage("-n is %d, want 1 to %d", o.places, quorum.MaxAny)
	case o.places > 0 && len(o.keys) > 1:
		return badUsage("-n is for one key, and there are %d", len(o.keys))
	}
	do, keys := c.DoAll, o.keys
	if o.places > 0 {
		do, keys = c.DoAny, nil
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
