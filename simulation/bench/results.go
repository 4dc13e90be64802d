package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Results are the results of all measurements.
type Results struct {
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

	// Recorded says how each part was measured.
	Recorded map[string]Setting `json:"recorded,omitempty"`
}

// Setting is how a part was measured.
type Setting struct {
	Commit  string  `json:"commit,omitempty"`
	Server  string  `json:"redis_version"`
	Go      string  `json:"go"`
	Cores   int     `json:"cores"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds,omitempty"` // of a round; 0 if it ends when its work is done
	// Load is the machine's load average before the part, of the last minute. The parts
	// before it are part of that load.
	Load float64 `json:"load_before"`
}

// keep takes the parts that were not measured from earlier results.
func (r *Results) keep(old Results) {
	if r.Recorded == nil {
		r.Recorded = map[string]Setting{}
	}
	for _, part := range []struct {
		name string
		keep func()
	}{
		{"throughput", func() { r.Throughput = old.Throughput }},
		{"sick", func() { r.Sick = old.Sick }},
		{"contended", func() { r.Contended = old.Contended }},
		{"overload", func() { r.Overload = old.Overload }},
		{"scale", func() { r.Scale = old.Scale }},
		{"waiters", func() { r.Waiters = old.Waiters }},
		{"held", func() { r.Held = old.Held }},
		{"instructions", func() { r.Instructions, r.Counter, r.Omitted = old.Instructions, old.Counter, old.Omitted }},
		{"against", func() { r.Against = old.Against }},
	} {
		if _, measured := r.Recorded[part.name]; measured {
			continue
		}
		part.keep()
		if setting, ok := old.Recorded[part.name]; ok {
			r.Recorded[part.name] = setting
		}
	}
	for _, c := range old.Contenders {
		if !slices.ContainsFunc(r.Contenders, func(have Entry) bool { return have.Name == c.Name }) {
			r.Contenders = append(r.Contenders, c)
		}
	}
	order := map[string]int{}
	for i, c := range contenders() {
		order[c.name] = i
	}
	slices.SortStableFunc(r.Contenders, func(a, b Entry) int { return order[a.Name] - order[b.Name] })
}

// load returns the machine's load average of the last minute; 0 where that is not to be had.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	value, _ := strconv.ParseFloat(first, 64)
	return value
}

// Entry describes a contender.
type Entry struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Servers int    `json:"servers"`
}

// writeJSON writes the results to a file. What the file has of other parts stays there.
func (r Results) writeJSON(path string) error {
	switch text, err := os.ReadFile(path); {
	case err == nil:
		var old Results
		if err := json.Unmarshal(text, &old); err != nil {
			return fmt.Errorf("%s exists and has no results of this program: %w", path, err)
		}
		r.keep(old)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
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
	for _, s := range r.Recorded { // the parts of one run differ in their rounds alone
		fmt.Fprintf(w, "redis-server %s on loopback, clients and servers on the same %d cores, %s; medians of up to %d rounds, in turns.\n\n",
			s.Server, s.Cores, s.Go, s.Rounds)
		break
	}
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
		heap, stacks, goroutines := fmt.Sprintf("%.0f", h.Heap), fmt.Sprintf("%.0f", h.Stacks), fmt.Sprintf("%d, %d", h.Goroutines, h.GoroutinesMost)
		if h.Lost > 0 {
			heap, stacks, goroutines = "-", "-", "-" // these are of fewer leases
		}
		fmt.Fprintf(w, "| %d | %s | %.3g | %s | %s | %s | %.2f | %.2f | %.1f | %d |\n",
			h.Leases, h.By, h.TTL, heap, stacks, goroutines, h.ClientCPU, h.ServerCPU, h.Acquired, h.Lost)
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
