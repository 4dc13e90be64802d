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

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/internal/orders"
	"github.com/redquorum/redlock/simulation/search"
)

func runOrders(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var world, format string
	var clients, servers int
	var pairs bool
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	s := newSearching(flags, stdout, stderr)
	flags.StringVar(&world, "world", "try", "what the clients do, one or several `names`: "+strings.Join(orders.Names(), ", ")+", or all")
	flags.IntVar(&clients, "clients", 2, "the number of clients, 1 to 8")
	flags.IntVar(&servers, "servers", 3, "the number of servers, 1 to 9")
	flags.StringVar(&s.faults, "faults", "", "`kinds` of faults, separated by commas, or all: one fault at any moment of every order (default: none)")
	flags.BoolVar(&pairs, "pairs", false, "also two faults in a run")
	flags.StringVar(&format, "format", "text", "the `form` of the report: text or json")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if err := cmp.Or(within("-clients", clients, 1, 8), within("-servers", servers, 1, 9), oneOf("-format", format, "text", "json")); err != nil {
		return err
	}
	plan := orders.Plan{
		Worlds: commas(world), Design: s.design, Changes: search.Changes{Servers: &servers, Processes: &clients}, Faults: s.kinds(), Pairs: pairs,
	}
	if s.faults == "all" {
		plan.Faults = orders.Kinds()
	}
	if world == "all" {
		plan.Worlds = orders.Names()
	}
	switch {
	case len(plan.Worlds) == 0:
		return usageError{fmt.Errorf("-world is %q, want one of %v, or all", world, orders.Names())}
	case pairs && len(plan.Faults) == 0:
		return usageError{errors.New("-pairs without -faults: name the kinds, or all")}
	}
	if err := s.check(); err != nil {
		return err
	}
	walks, err := plan.Walks(s.registry)
	if err != nil {
		return usageError{err}
	}
	if err := s.walk(ctx, walks); err != nil {
		return err
	}
	if format == "json" {
		if err := writeJSON(stdout, orders.Record{Plan: plan, Version: quorum.Version(), Rows: orders.Table(walks)}); err != nil {
			return err
		}
		// No replay file is written.
		findings := orders.Causes(walks)
		broken := 0
		for _, w := range walks {
			for _, f := range w.Found {
				if f.Assumption == 0 {
					broken++
				}
			}
		}
		return s.verdict(ctx, plan, walks, findings, broken)
	}
	return s.printWalks(ctx, plan, walks)
}

// verdict is the error of walks that found something or played nothing, or were interrupted.
func (s *searching) verdict(ctx context.Context, plan orders.Plan, walks []orders.Walk, findings []search.Finding, broken int) error {
	open := slices.ContainsFunc(walks, func(w orders.Walk) bool { return !w.Tree.Over })
	switch {
	case len(findings) > 0:
		return s.sum(plan.Worlds[0], findings, broken)
	case open && ctx.Err() != nil:
		return errors.New("interrupted")
	case !slices.ContainsFunc(walks, func(w orders.Walk) bool { return w.Tree.Runs > 0 }):
		return errors.New("no order was played: give more time with -for")
	}
	return nil
}

// walk plays all walks.
func (s *searching) walk(ctx context.Context, walks []orders.Walk) error {
	limited, cancel := s.limited(ctx)
	defer cancel()
	began := time.Now()
	// What is under way when the time is up is lost, so short budgets have short slices.
	err := orders.Play(limited, s.registry, walks, orders.Options{Workers: s.workers, Command: startWorker(ordersWorker), Slice: min(s.limit/10, 3*time.Second), Progress: func(walks []orders.Walk) {
		s.progress.walks(walks, time.Since(began))
	}})
	s.progress.clear()
	return err
}

// walks shows how far the walks are.
func (p *progress) walks(walks []orders.Walk, gone time.Duration) {
	if p == nil {
		return
	}
	runs, found, part := uint64(0), 0, 0.0
	for i := range walks {
		runs += walks[i].Tree.Runs
		found += len(walks[i].Found)
		part += walks[i].Tree.Part() / float64(len(walks))
	}
	p.show(fmt.Sprintf("%d orders, about %.1f %% of all, %d with violations%s", runs, 100*part, found, left(gone, uint64(part*1e6), 1e6)))
}

// printWalks writes the report.
func (s *searching) printWalks(ctx context.Context, plan orders.Plan, walks []orders.Walk) error {
	out := s.stdout
	for _, name := range plan.Worlds {
		world, err := s.registry.Workload(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s with %s: %s and %s; %s\n", name, plan.Design, count(*plan.Changes.Processes, "client"), count(*plan.Changes.Servers, "server"), world.Title)
	}
	total, open := printTable(out, walks)
	switch {
	case open == 0:
		fmt.Fprintf(out, "these are all orders, up to exchanges of independent events: %s\n", count(int(total), "run"))
	default:
		words := "the time is up"
		if ctx.Err() != nil {
			words = "interrupted"
		}
		fmt.Fprintf(out, "%s: %s not finished\n", words, count(open, "walk"))
	}
	findings, broken := orders.Causes(walks), 0
	for _, f := range findings {
		blame, err := s.printFinding(ctx, f, total)
		if err != nil {
			return err
		}
		if !blame.Excused() {
			broken++
		}
	}
	if err := s.verdict(ctx, plan, walks, findings, broken); err != nil {
		return err
	}
	fmt.Fprintln(out, "no violation")
	return nil
}

// printTable lists the walks by the kinds of their faults.
func printTable(out io.Writer, walks []orders.Walk) (total uint64, open int) {
	fmt.Fprintf(out, "%-9s %-34s %6s %10s %9s  %s\n", "world", "faults", "walks", "orders", "seconds", "found")
	for _, row := range orders.Table(walks) {
		found := "nothing"
		if len(row.Found) > 0 {
			found = strings.Join(row.Found, ", ")
		}
		if row.Open > 0 {
			found += fmt.Sprintf(" (%s not finished)", count(row.Open, "walk"))
		}
		fmt.Fprintf(out, "%-9s %-34s %6d %10d %9.1f  %s\n", row.World, row.Faults, row.Walks, row.Runs, row.Took.Seconds(), found)
		total, open = total+row.Runs, open+row.Open
	}
	return total, open
}
