package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Results are the results of all measurements.
type Results struct {
	Server     string       `json:"redis_version"`
	Go         string       `json:"go"`
	Cores      int          `json:"cores"`
	Rounds     int          `json:"rounds"`
	Seconds    float64      `json:"seconds"`
	Contenders []Entry      `json:"contenders"`
	Throughput []Throughput `json:"throughput,omitempty"`
	Sick       []Sickness   `json:"sick,omitempty"`
	Contended  []Contended  `json:"contended,omitempty"`
	Overload   *Overload    `json:"overload,omitempty"`
}

// Entry describes a contender.
type Entry struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Servers int    `json:"servers"`
}

func (r Results) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// markdown writes the results as tables.
func (r Results) markdown(w io.Writer) {
	fmt.Fprintf(w, "Five redis-server %s on loopback, clients and servers on the same %d cores, %s; medians of %d rounds of %.3gs, in turns.\n\n",
		r.Server, r.Cores, r.Go, r.Rounds, r.Seconds)
	fmt.Fprintf(w, "| contender | asks | what it is |\n| --- | --- | --- |\n")
	for _, c := range r.Contenders {
		servers := map[int]string{0: "no server", 1: "ONE server"}[c.Servers]
		if servers == "" {
			servers = "five servers"
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.Name, servers, c.Note)
	}
	if len(r.Throughput) > 0 {
		fmt.Fprintf(w, "\n| workers | contender | cycles/s | ratio | p50 µs | p99 µs | client CPU µs/cycle | server CPU µs/cycle | allocs/cycle | failed |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, t := range r.Throughput {
		fmt.Fprintf(w, "| %d | %s | %.0f | %.2f | %.0f | %.0f | %.1f | %.1f | %.0f | %d |\n",
			t.Workers, t.Contender, t.PerSecond, t.Ratio, t.P50, t.P99, t.ClientCPU, t.ServerCPU, t.Allocs, t.Failed)
	}
	if len(r.Sick) > 0 {
		fmt.Fprintf(w, "\n| one of five is | workers | contender | cycles/s | p50 ms | p99 ms | worst ms | failed | goroutines | heap MB | keys left on the others | on it, 1 s after it is back |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, s := range r.Sick {
		fmt.Fprintf(w, "| %s | %d | %s | %.0f | %.2f | %.2f | %.1f | %d | %d | %.0f | %d | %d |\n",
			s.State, s.Workers, s.Contender, s.PerSecond, s.P50, s.P99, s.Worst, s.Failed, s.Goroutines, s.HeapMB, s.LeftThere, s.LeftLater)
	}
	if len(r.Contended) > 0 {
		fmt.Fprintf(w, "\n| one lock | contender | handoffs/s | wait p50 ms | p99 ms | longest ms | longest/median | turns, fewest to most | commands/handoff | failed |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, c := range r.Contended {
		fmt.Fprintf(w, "| %d × %d | %s | %.0f | %.1f | %.1f | %.1f | %.1f | %d to %d | %.1f | %d |\n",
			c.Processes, c.Workers, c.Contender, c.PerSecond, c.P50, c.P99, c.Longest, c.Unfair, c.Fewest, c.Most, c.Commands, c.Failed)
	}
	if o := r.Overload; o != nil {
		fmt.Fprintf(w, "\n| %d leases, TTL %.3g s, %.3g s of overload | |\n| --- | --- |\n", o.Leases, o.TTL, o.Seconds)
		fmt.Fprintf(w, "| leases lost | %d |\n", o.Lost)
		fmt.Fprintf(w, "| extensions, failed ones | %d, %d |\n", o.Extensions, o.ExtensionsFailed)
		fmt.Fprintf(w, "| an extension takes, ms: p50, p99, worst | %.1f, %.1f, %.1f |\n", o.ExtendP50, o.ExtendP99, o.ExtendWorst)
		fmt.Fprintf(w, "| locks/s: before, asked for, taken | %.0f, %.0f, %.0f |\n", o.Capacity, o.Offered, o.Won)
		fmt.Fprintf(w, "| TryAcquire: asked, ErrOverloaded, failed otherwise | %d, %d, %d |\n", o.Tried, o.Overloaded, o.Failed)
		fmt.Fprintf(w, "| Acquire: asked, not served in time | %d, %d |\n", o.Waiters, o.GaveUp)
		fmt.Fprintf(w, "| a wait takes, ms: p50, p99 | %.1f, %.1f |\n", o.WaitP50, o.WaitP99)
	}
}
