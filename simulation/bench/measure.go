package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/internal/origin"
)

// measureAll measures the parts of these names, in so many rounds.
func measureAll(ctx context.Context, names []string, rounds int, long time.Duration, progress io.Writer) (results Results, err error) {
	results = Results{Go: runtime.Version(), Rounds: rounds, Seconds: long.Seconds(), Parts: map[string][]Row{}}
	if results.Origin, err = origin.Of(ctx, filepath.Join("..", "..")); err != nil {
		return results, err
	}
	if results.Server, err = (redisproc.Config{}).Product(); err != nil {
		return results, err
	}
	for _, p := range parts {
		if !slices.Contains(names, p.name) {
			continue
		}
		for _, group := range p.groups(long) {
			rows, err := inTurns(ctx, group, rounds, progress)
			if err != nil {
				return results, fmt.Errorf("%s: %w", p.name, err)
			}
			results.Parts[p.name] = append(results.Parts[p.name], rows...)
		}
	}
	return results, nil
}

// inTurns measures the cases of a group in several rounds, one right after the other, each round beginning
// with another one. So other load on the machine affects all of them alike. They are compared with the first.
func inTurns(ctx context.Context, group []Case, rounds int, progress io.Writer) ([]Row, error) {
	measured := make([][]figures, len(group))
	for round := range rounds {
		for turn := range group {
			i := (turn + round) % len(group)
			if round > 0 && group[i].once {
				continue
			}
			fmt.Fprintf(progress, "round %d of %d: %s\n", round+1, rounds, group[i])
			one, err := measure(ctx, group[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", group[i], err)
			}
			measured[i] = append(measured[i], one)
		}
	}
	var rows []Row
	for i, c := range group {
		rows = append(rows, Row{c, joined(measured[i]), ratios(measured[i], measured[0])})
	}
	return rows, nil
}

// slowness is how far away the slow server is.
const slowness = 50 * time.Millisecond

// measure measures a case once, on servers of its own: some contenders leave keys there.
func measure(ctx context.Context, c Case) (figures, error) {
	task := Task{Case: c}
	var servers []*redisproc.Server
	for range c.Servers {
		server, err := redisproc.Start(ctx, redisproc.Config{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = server.Close() }()
		servers, task.Addrs = append(servers, server), append(task.Addrs, server.Addr())
	}
	healthy := servers
	if c.State != "" {
		healthy = servers[1:]
	}
	if c.State == slow {
		far, err := redisproc.NewLink(task.Addrs[0])
		if err != nil {
			return nil, err
		}
		defer func() { _ = far.Close() }()
		far.Far(slowness)
		task.Addrs[0] = far.Addr()
	}
	clients, err := startClients(ctx, c.Processes)
	defer clients.kill() // for those that an error leaves
	if err != nil {
		return nil, err
	}
	if err := clients.each(func(c *client) error { return c.Call("Client.WarmUp", task, new(bool)) }); err != nil {
		return nil, err
	}
	switch c.State {
	case hung:
		if err := servers[0].Pause(); err != nil {
			return nil, err
		}
	case killed:
		servers[0].Kill()
	}
	before, err := serversCPU(healthy)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := clients.each(func(c *client) error { return c.Call("Client.Measure", task, &c.result) }); err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	after, err := serversCPU(healthy)
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

// serversCPU is the processor time that servers have used.
func serversCPU(servers []*redisproc.Server) (sum time.Duration, err error) {
	for _, server := range servers {
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			value, err := server.Info(name)
			if err != nil {
				return 0, err
			}
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum, nil
}
