package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// Results are the results of all measurements.
type Results struct {
	Server     string       `json:"redis_version"`
	Go         string       `json:"go"`
	Cores      int          `json:"cores"`
	Rounds     int          `json:"rounds"`
	Seconds    float64      `json:"seconds"`
	Contenders []Entry      `json:"contenders,omitempty"`
	Throughput []Throughput `json:"throughput,omitempty"`
	Sick       []Sickness   `json:"sick,omitempty"`
	Contended  []Contended  `json:"contended,omitempty"`
	Overload   *Overload    `json:"overload,omitempty"`
	Scale      []Scale      `json:"scale,omitempty"`
	Waiters    []Waiters    `json:"waiters,omitempty"`
	Held       []Held       `json:"held,omitempty"`

	Instructions []Instructions `json:"instructions,omitempty"`
	Counter      string         `json:"instructions_counted_by,omitempty"`
	Omitted      string         `json:"omitted,omitempty"` // why something was not measured

	Against *Against `json:"against,omitempty"`
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
	text = numberList.ReplaceAllFunc(text, func(list []byte) []byte {
		return []byte("[" + strings.Join(strings.Fields(strings.Trim(string(list), "[]")), " ") + "]")
	})
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// numberList is a list of numbers, which has a line of the file for each of them.
var numberList = regexp.MustCompile(`\[[-+0-9.eE,\s]+\]`)

// markdown writes the results as tables.
func (r Results) markdown(w io.Writer) {
	fmt.Fprintf(w, "Five redis-server %s on loopback, clients and servers on the same %d cores, %s; medians of %d rounds of %.3gs, in turns.\n\n",
		r.Server, r.Cores, r.Go, r.Rounds, r.Seconds)
	if r.Against != nil {
		r.Against.markdown(w)
		return
	}
	if len(r.Contenders) > 0 {
		fmt.Fprintf(w, "| contender | asks | what it is |\n| --- | --- | --- |\n")
	}
	for _, c := range r.Contenders {
		servers := map[int]string{0: "no server", 1: "ONE server"}[c.Servers]
		if servers == "" {
			servers = "five servers"
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.Name, servers, c.Note)
	}
	if len(r.Throughput) > 0 {
		fmt.Fprintf(w, "\n| workers | contender | cycles/s | ratio | its interval | p50 µs | p99 µs | client CPU µs/cycle | server CPU µs/cycle | allocs/cycle | failed |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, t := range r.Throughput {
		fmt.Fprintf(w, "| %d | %s | %.0f | %.2f | %.2f to %.2f | %.0f | %.0f | %.1f | %.1f | %.0f | %d |\n",
			t.Workers, t.Contender, t.PerSecond, t.Ratio, t.RatioLow, t.RatioHigh, t.P50, t.P99, t.ClientCPU, t.ServerCPU, t.Allocs, t.Failed)
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
	r.libraryMarkdown(w)
}

// libraryMarkdown writes the parts that measure this library alone.
func (r Results) libraryMarkdown(w io.Writer) {
	if len(r.Scale) > 0 {
		fmt.Fprintf(w, "\n| %d workers on | cycles/s | ratio | its interval | p50 µs | p99 µs | client CPU µs/cycle | servers' CPU µs/cycle | failed |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", busy)
	}
	for _, s := range r.Scale {
		fmt.Fprintf(w, "| %s | %.0f | %.2f | %.2f to %.2f | %.0f | %.0f | %.1f | %.1f | %d |\n",
			s.on(), s.PerSecond, s.Ratio, s.RatioLow, s.RatioHigh, s.P50, s.P99, s.ClientCPU, s.ServerCPU, s.Failed)
	}
	if len(r.Waiters) > 0 {
		fmt.Fprintf(w, "\n| waiters for one lock | hand-offs/s | interval | client CPU µs/hand-off | servers' CPU µs/hand-off | allocs/hand-off | failed |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, o := range r.Waiters {
		fmt.Fprintf(w, "| %d | %.0f | %.0f to %.0f | %.2f | %.2f | %.1f | %d |\n",
			o.Waiting, o.PerSecond, o.Low, o.High, o.ClientCPU, o.ServerCPU, o.Allocs, o.Failed)
	}
	if len(r.Held) > 0 {
		fmt.Fprintf(w, "\n| leases held | by | TTL s | heap bytes/lease | stack bytes/lease | goroutines, most | client CPU, cores | servers' CPU, cores | acquired in s | lost |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	}
	for _, h := range r.Held {
		fmt.Fprintf(w, "| %d | %s | %.3g | %.0f | %.0f | %d, %d | %.2f | %.2f | %.1f | %d |\n",
			h.Leases, h.By, h.TTL, h.Heap, h.Stacks, h.Goroutines, h.GoroutinesMost, h.ClientCPU, h.ServerCPU, h.Acquired, h.Lost)
	}
	if len(r.Instructions) > 0 {
		fmt.Fprintf(w, "\n| workers | client's instructions/cycle, by %s | interval |\n| --- | --- | --- |\n", r.Counter)
	}
	for _, i := range r.Instructions {
		fmt.Fprintf(w, "| %d | %.0f | %.0f to %.0f |\n", i.Workers, i.PerCycle, i.Low, i.High)
	}
	if r.Omitted != "" {
		fmt.Fprintf(w, "\n%s.\n", r.Omitted)
	}
}

func (s Scale) on() string {
	switch {
	case s.Keys == 1:
		return fmt.Sprintf("%d servers, one key for all", s.Servers)
	case s.Keys > 0:
		return fmt.Sprintf("%d servers, one of %d keys each time", s.Servers, s.Keys)
	default:
		return fmt.Sprintf("%d servers, a key for each worker", s.Servers)
	}
}

func (a Against) markdown(w io.Writer) {
	fmt.Fprintf(w, "| %s over %s | figure | %s | %s | ratio | its interval |\n| --- | --- | --- | --- | --- | --- |\n", a.This, a.Other, a.This, a.Other)
	for _, c := range a.Figures {
		ratio, interval := "-", "-"
		if c.Ratio != 0 {
			ratio, interval = fmt.Sprintf("%.3f", c.Ratio), fmt.Sprintf("%.3f to %.3f", c.Low, c.High)
		}
		fmt.Fprintf(w, "| %s, %s | %s | %s | %s | %s | %s |\n", c.Part, c.What, c.Figure, digits(c.This), digits(c.Other), ratio, interval)
	}
	if a.Omitted != "" {
		fmt.Fprintf(w, "\n%s.\n", a.Omitted)
	}
}

// digits writes the digits of a figure that mean something.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
