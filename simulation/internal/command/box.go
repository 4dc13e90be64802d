//go:build unix

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box"
)

func runBox(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o box.Options
	var format string
	flags := flag.NewFlagSet("box", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: redlocksim box [flags] -- COMMAND\n"+
			"COMMAND starts a driver for a lock client: docs/reference/driver.md has its protocol.\n"+
			"The exit code is 1 if there are findings that are not allowed, 2 if nothing could be played, 3 if a fault\n"+
			"never struck, so that nothing is known of it, and 130 if it was interrupted.\n")
		flags.PrintDefaults()
	}
	list := func(all *[]string) func(string) error {
		return func(text string) error {
			for _, name := range strings.Split(text, ",") {
				*all = append(*all, strings.TrimSpace(name))
			}
			return nil
		}
	}
	flags.IntVar(&o.Servers, "servers", 0, "how many servers, 1 to 9 (default: 5, or 1 for a client that takes one)")
	flags.StringVar(&o.Binary, "server", "", "the `program` to start as a server (default: redis-server)")
	flags.BoolVar(&o.Embedded, "embedded", false, "servers in this process, as when no redis-server is installed")
	flags.DurationVar(&o.TTL, "ttl", 1500*time.Millisecond, "how long leases last, 200ms to 1m")
	flags.DurationVar(&o.For, "for", 90*time.Second, "for how long random schedules are played after the fixed ones")
	flags.DurationVar(&o.ShrinkFor, "shrink", 20*time.Second, "for how long the schedules of the client's own findings are made shorter, before those of all findings are played again; 0: neither")
	flags.Uint64Var(&o.Seed, "seed", 1, "the seed of the random schedules")
	flags.IntVar(&o.Parallel, "parallel", 4, "how many plays run at once, 1 to 16")
	flags.Func("faults", "only these `faults`, with commas between them: "+strings.Join(box.Faults(), ", "), list(&o.Faults))
	flags.Func("allow", "`findings` that don't fail the command: \"pause: stale write\", or \"pause\" for all findings under that fault, or \"limits\" for all findings that the Redis document's lock has under the same fault", list(&o.Allow))
	flags.StringVar(&format, "format", "text", "the output: text or json")
	flags.StringVar(&o.Schedule, "schedule", "", "play these `steps` ten times instead, and say what happened; the report has such a flag for each finding")
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	o.Command = flags.Args()
	if len(o.Command) == 0 {
		return usageError{errors.New("there is no driver: redlocksim box [flags] -- COMMAND")}
	}
	wrong := oneOf("-format", format, "text", "json")
	flags.Visit(func(set *flag.Flag) {
		if o.Schedule != "" && slices.Contains([]string{"for", "shrink", "seed", "faults"}, set.Name) {
			wrong = usageError{fmt.Errorf("-%s has no effect with -schedule: nothing else is played", set.Name)}
		}
	})
	if wrong != nil {
		return wrong
	}
	if o.Schedule != "" {
		o.For, o.ShrinkFor = 0, 0
	}
	if err := findServer(&o, stderr); err != nil {
		return err
	}
	err := playBox(ctx, o, format, stdout, stderr)
	if errors.As(err, new(box.DriverError)) || errors.Is(err, box.ErrOptions) || errors.Is(err, redisproc.ErrMissing) {
		return usageError{err}
	}
	return interrupted(ctx, err)
}

// findServer checks the server program. Without redis-server, embedded servers take its place.
func findServer(o *box.Options, stderr io.Writer) error {
	if _, err := (redisproc.Config{Binary: o.Binary}).Find(); err != nil && !o.Embedded {
		if o.Binary != "" {
			return usageError{err}
		}
		fmt.Fprintln(stderr, "There is no redis-server in the PATH: servers in this process take its place.")
		o.Embedded = true
	}
	return nil
}

func playBox(ctx context.Context, o box.Options, format string, stdout, stderr io.Writer) error {
	p := newProgress(stderr)
	defer p.clear()
	o.Say = func(text string, replaces bool) {
		if p.clear(); replaces {
			p.show(text)
		} else {
			fmt.Fprintln(stderr, text)
		}
	}
	r, ended := box.Run(ctx, o)
	if ended != nil && r.Played() == 0 {
		return ended
	}
	p.clear()
	var err error
	if format == "json" {
		err = writeJSON(stdout, r)
	} else {
		_, err = fmt.Fprint(stdout, r.Text(o.Schedule != ""))
	}
	if err != nil {
		return err
	}
	switch {
	case ended != nil: // the report has what was played before
		return ended
	case r.Played() == 0:
		return usageError{errors.New("nothing was played: these servers have none of the faults, or the client got no lock")}
	}
	if found := r.NotAllowed(); found != "" {
		return fmt.Errorf("%s: findings that are not allowed: %s", r.Name, found)
	}
	if unknown := r.Unknown(); unknown != "" {
		return unknownError{fmt.Errorf("not everything is known: %s", unknown)}
	}
	return nil
}
