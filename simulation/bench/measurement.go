package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/internal/origin"
)

// measureAll performs the measurements.
func measureAll(ctx context.Context, opts options, progress io.Writer) (results Results, err error) {
	results = Results{Go: runtime.Version(), Rounds: opts.rounds, Seconds: opts.long.Seconds(), Parts: map[string][]Row{}}
	if results.Origin, err = origin.Of(ctx, filepath.Join("..", "..")); err != nil {
		return results, err
	}
	if results.Server, err = (redisproc.Config{}).Product(); err != nil {
		return results, err
	}
	for _, p := range parts {
		if !slices.Contains(opts.parts, p.name) {
			continue
		}
		for _, g := range p.groups(opts) {
			rows, err := inTurns(ctx, g, opts.rounds, progress)
			if err != nil {
				return results, fmt.Errorf("%s: %w", p.name, err)
			}
			results.Parts[p.name] = append(results.Parts[p.name], rows...)
		}
	}
	return results, nil
}

// inTurns measures the cases of a group in several rounds, one right after the other, each round beginning
// with another one. So other load on the machine affects all of them alike.
func inTurns(ctx context.Context, g group, rounds int, progress io.Writer) ([]Row, error) {
	measured := make([][]figures, len(g.cases))
	for round := range rounds {
		for turn := range g.cases {
			i := (turn + round) % len(g.cases)
			if round > 0 && g.cases[i].once {
				continue
			}
			fmt.Fprintf(progress, "round %d of %d: %s\n", round+1, rounds, g.cases[i])
			one, err := measure(ctx, g.cases[i], g.Setting)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.cases[i], err)
			}
			measured[i] = append(measured[i], one)
		}
	}
	var rows []Row
	for i, c := range g.cases {
		rows = append(rows, Row{c, joined(measured[i]), ratios(measured[i], measured[0])})
	}
	return rows, nil
}

// measure measures a case once, on servers of its own: some contenders leave keys there.
func measure(ctx context.Context, c Case, s Setting) (figures, error) {
	f, err := startFleet(ctx, c.Servers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	healthy := f
	if c.State != "" {
		healthy = f[1:]
	}
	task := Task{c, s, f.addrs()}
	if c.State == slow {
		far, err := redisproc.NewLink(f[0].Addr())
		if err != nil {
			return nil, err
		}
		defer func() { _ = far.Close() }()
		far.Far(slowness)
		task.Addrs[0] = far.Addr()
	}
	clients, err := startClients(ctx, task)
	defer clients.kill() // for those that an error leaves
	if err != nil {
		return nil, err
	}
	if err := clients.each(func(c *client) error { return c.warmUp(task) }); err != nil {
		return nil, err
	}
	switch c.State {
	case hung:
		if err := f[0].Pause(); err != nil {
			return nil, err
		}
	case killed:
		f[0].Kill()
	}
	before, err := healthy.cpu()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := clients.each((*client).measure); err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	after, err := healthy.cpu()
	if err != nil {
		return nil, err
	}
	if err := clients.each((*client).end); err != nil {
		return nil, err
	}
	var results []Result
	for _, client := range clients {
		results = append(results, client.result)
	}
	return figuresOf(c, results, after-before, elapsed), nil
}

// slowness is how far away the slow server is.
const slowness = 50 * time.Millisecond
