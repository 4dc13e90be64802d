package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

func runOrders(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var names []string
	for _, w := range orders.Worlds() {
		names = append(names, w.Name)
	}
	var worlds, faults string
	var limit time.Duration
	plan := orders.Plan{}
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.StringVar(&worlds, "world", "try", "what the clients do, one or several `names`: "+strings.Join(names, ", "))
	flags.StringVar(&plan.Design, "design", "default", "the `name` of the lock design, see list")
	flags.IntVar(&plan.Size.Processes, "clients", 2, "the number of clients, 1 to 8")
	flags.IntVar(&plan.Size.Servers, "servers", 3, "the number of servers, 1 to 9")
	flags.StringVar(&faults, "faults", "", "`kinds` of faults, separated by commas, or all: one at any moment of every order (default: none)")
	flags.BoolVar(&plan.Pairs, "pairs", false, "also two faults in a run")
	flags.DurationVar(&limit, "for", 0, "stop the walk after this time (default: when it is over)")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	plan.Worlds = commas(worlds)
	for _, name := range commas(faults) {
		plan.Faults = append(plan.Faults, fault.Kind(name))
	}
	if faults == "all" {
		plan.Faults = orders.Kinds()
	}
	switch {
	case len(plan.Worlds) == 0:
		return usageError{fmt.Errorf("-world is %q, want one of %v", worlds, names)}
	case plan.Pairs && len(plan.Faults) == 0:
		return usageError{errors.New("-pairs without -faults: name the kinds, or all")}
	case limit < 0:
		return usageError{fmt.Errorf("-for is %v, want 0 or more", limit)}
	}
	if err := cmp.Or(within("-clients", plan.Size.Processes, 1, 8), within("-servers", plan.Size.Servers, 1, 9)); err != nil {
		return err
	}
	walks, err := plan.Walks()
	if err != nil {
		return usageError{err}
	}
	limited, slice := ctx, time.Second
	if limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		slice = min(slice, limit/10)
	}
	if err := orders.Play(limited, walks, slice); err != nil {
		return err
	}
	if err := printWalks(stdout, walks); err != nil || ctx.Err() == nil {
		return err
	}
	return errors.New("interrupted")
}

// printWalks lists the walks by the kinds of their faults, and the first run that breaks a promise.
func printWalks(out io.Writer, walks []orders.Walk) error {
	total, open := uint64(0), 0
	fmt.Fprintf(out, "%-9s %-34s %6s %10s %9s  %s\n", "world", "faults", "walks", "orders", "seconds", "found")
	for _, row := range orders.Table(walks) {
		found := cmp.Or(strings.Join(row.Found, ", "), "nothing")
		if row.Open > 0 {
			found += fmt.Sprintf(" (%s not finished)", wrap.Count(row.Open, "walk"))
		}
		fmt.Fprintf(out, "%-9s %-34s %6d %10d %9.1f  %s\n", row.World, row.Faults, row.Walks, row.Runs, row.Took.Seconds(), found)
		total, open = total+row.Runs, open+row.Open
	}
	switch {
	case total == 0:
		return errors.New("no order was played: give more time with -for")
	case open == 0:
		fmt.Fprintf(out, "these are all orders, up to exchanges of independent events: %d\n", total)
	default:
		fmt.Fprintf(out, "%d orders; %s not finished\n", total, wrap.Count(open, "walk"))
	}
	if at := slices.IndexFunc(walks, func(w orders.Walk) bool { return w.Log != "" }); at >= 0 {
		fmt.Fprintf(out, "\nthe first run with a violation, no assumption being broken:\n%s", walks[at].Log)
		return fmt.Errorf("%s doesn't hold", walks[at].Setup.Design)
	}
	return nil
}
