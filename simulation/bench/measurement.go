package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/internal/origin"
)

// measurement is what the parts have in common.
type measurement struct {
	ctx      context.Context
	progress io.Writer
}

// measure performs the measurements.
func measure(ctx context.Context, opts options, stderr io.Writer) (results Results, err error) {
	m, root := measurement{ctx, stderr}, filepath.Join("..", "..")
	setting := Setting{Go: runtime.Version()}
	if setting.Origin, err = origin.Of(ctx, root); err != nil {
		return results, err
	}
	if setting.Server, err = (redisproc.Config{}).Product(); err != nil {
		return results, err
	}
	var other program
	if opts.against != "" {
		fmt.Fprintln(stderr, "building the program of", opts.against)
		folder, err := os.MkdirTemp("", "bench")
		if err != nil {
			return results, err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		if other, err = build(ctx, opts.against, folder); err != nil {
			return results, err
		}
	}
	results = Results{Parts: map[string][]Row{}, Recorded: map[string]Setting{}}
	for _, p := range parts {
		if !slices.Contains(opts.parts, p.name) {
			continue
		}
		groups := p.groups(opts)
		if opts.against != "" {
			groups = against(groups, program{version: setting.Commit}, other)
		}
		for _, g := range groups {
			rows, err := m.inTurns(p.name, g)
			if err != nil {
				return results, err
			}
			results.Parts[p.name] = append(results.Parts[p.name], rows...)
			setting.Rounds, setting.Seconds = g.rounds, g.long.Seconds()
		}
		results.Recorded[p.name] = setting
	}
	return results, nil
}

// inTurns measures the cases of a group in several rounds, one right after the other, each round beginning
// with another one. So other load on the machine affects all of them alike.
func (m measurement) inTurns(part string, g group) ([]Row, error) {
	measured := make([][]figures, len(g.cases))
	for round := range g.rounds {
		for turn := range g.cases {
			i := (turn + round) % len(g.cases)
			if round > 0 && g.cases[i].once {
				continue
			}
			fmt.Fprintf(m.progress, "%s, round %d of %d: %s\n", part, round+1, g.rounds, g.cases[i])
			one, err := m.measure(g.cases[i], g)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", part, g.cases[i], err)
			}
			measured[i] = append(measured[i], one)
		}
	}
	var rows []Row
	for i, c := range g.cases {
		rows = append(rows, Row{c, joined(measured[i]), ratios(measured[i], measured[g.base])})
	}
	return rows, nil
}

// measure measures a case once, on servers of its own: some contenders leave keys there.
func (m measurement) measure(c Case, g group) (figures, error) {
	f, err := startFleet(m.ctx, c.Servers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	healthy := f
	if c.State != "" {
		healthy = f[1:]
	}
	task := Task{Case: c, Addrs: f.addrs(), TTL: g.ttl, Long: g.long, Hold: g.hold}
	if c.State == slow {
		far, err := redisproc.NewLink(f[0].Addr())
		if err != nil {
			return nil, err
		}
		defer func() { _ = far.Close() }()
		far.Far(slowness)
		task.Addrs[0] = far.Addr()
	}
	clients, err := startClients(m.ctx, task)
	defer clients.kill() // for those that an error leaves
	if err != nil {
		return nil, err
	}
	if err := clients.warmUp(task); err != nil {
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
	results, err := clients.measure()
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	after, err := healthy.cpu()
	if err != nil {
		return nil, err
	}
	if err := clients.end(); err != nil {
		return nil, err
	}
	return figuresOf(c, results, after-before, elapsed), nil
}

// slowness is how far away the slow server is.
const slowness = 50 * time.Millisecond
