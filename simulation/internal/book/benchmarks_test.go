package book_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/origin"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

func init() {
	generators["bench"] = benchTable
	generators["bench-settings"] = benchSettings
	generators["speed"] = speed
}

// benchResults is what the benchmark program has written:
//
//	go -C simulation/bench run . -rounds 3 -for 1s -json ../../docs/testdata/bench.json
//
// Figures differ from machine to machine; no test says what they must be.
type benchResults map[string]any

func benchmarks() (benchResults, error) { return readRecorded[benchResults]("testdata/bench.json") }

// rows are the measurements of a part.
func (r benchResults) rows(part string) (rows []map[string]any) {
	list, _ := r[part].([]any)
	for _, row := range list {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

// benchSettings says how the parts were measured.
func benchSettings([]string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	lock, err := origin.Lock("..")
	if err != nil {
		return "", err
	}
	var said, all []string
	parts := map[string][]string{}
	for _, part := range slices.Sorted(maps.Keys(benchColumns)) {
		with, _ := r["recorded"].(map[string]any)[part].(map[string]any)
		setting := fmt.Sprintf("redis-server %v, %v, %v cores of %v for clients and servers; medians of %v rounds of %v s; recorded on %.8v, %v.",
			with["redis_version"], with["go"], with["cores"], with["cpu"], with["rounds"], with["seconds"], with["commit"], with["date"])
		if with["lock"] != lock {
			setting += " **The lock has changed since then.**"
		}
		if parts[setting] == nil {
			said = append(said, setting)
		}
		parts[setting] = append(parts[setting], part)
	}
	for _, setting := range said {
		all = append(all, fmt.Sprintf("- %s: %s", strings.Join(parts[setting], ", "), setting))
	}
	return strings.Join(all, "\n"), nil
}

// benchColumn is a column of a part's table: its head, and the format and the names of the results
// in it.
type benchColumn struct {
	head, format string
	results      []string
}

// benchColumns are the tables, by part.
var benchColumns = map[string][]benchColumn{
	"throughput": {
		{"workers", "%.0f", []string{"workers"}}, {"contender", "%s", []string{"contender"}}, {"cycles/s", "%.0f", []string{"cycles_per_second"}},
		{"× redsync", "%.2f", []string{"ratio"}}, {"p50 µs", "%.0f", []string{"p50_us"}}, {"p99 µs", "%.0f", []string{"p99_us"}},
	},
	"sick": {
		{"one of five is", "%s", []string{"state"}}, {"contender", "%s", []string{"contender"}}, {"p50 ms", "%.2f", []string{"p50_ms"}},
		{"p99 ms", "%.2f", []string{"p99_ms"}}, {"failed", "%.0f", []string{"failed"}}, {"goroutines", "%.0f", []string{"goroutines"}},
	},
	"contended": {
		{"processes × workers", "%.0f × %.0f", []string{"processes", "workers_per_process"}}, {"contender", "%s", []string{"contender"}}, {"handoffs/s", "%.0f", []string{"handoffs_per_second"}},
		{"longest wait, ms", "%.0f", []string{"wait_longest_ms"}}, {"turns, fewest to most", "%.0f to %.0f", []string{"fewest_turns", "most_turns"}}, {"commands/handoff", "%.1f", []string{"commands_per_handoff"}},
	},
	"held": {
		{"leases", "%.0f", []string{"leases"}}, {"bytes/lease", "%.0f", []string{"heap_bytes_per_lease"}}, {"client's, servers' CPU, cores", "%.2f, %.2f", []string{"client_cpu_cores", "server_cpu_cores"}},
		{"acquired in s", "%.1f", []string{"acquired_in_seconds"}}, {"lost", "%.0f", []string{"leases_lost"}},
	},
	"scale": {
		{"servers", "%.0f", []string{"servers"}}, {"keys (0: one for each worker)", "%.0f", []string{"keys"}}, {"cycles/s", "%.0f", []string{"cycles_per_second"}},
		{"ratio", "%.2f", []string{"ratio"}}, {"p99 µs", "%.0f", []string{"p99_us"}},
	},
}

// cell is a row's result in a column.
func (c benchColumn) cell(row map[string]any) (string, error) {
	var values []any
	for _, name := range c.results {
		if row[name] == nil {
			return "", fmt.Errorf("the benchmark has written no %s", name)
		}
		values = append(values, row[name])
	}
	return fmt.Sprintf(c.format, values...), nil
}

// benchTable is the table of a part: words are the part and, if not all rows are shown, the numbers of workers that
// are.
func benchTable(words []string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	part, workers := words[0], words[1:]
	var heads []string
	for _, c := range benchColumns[part] {
		heads = append(heads, c.head)
	}
	var rows [][]string
	for _, measured := range r.rows(part) {
		if len(workers) > 0 && !slices.Contains(workers, fmt.Sprint(measured["workers"])) {
			continue
		}
		if part != "throughput" && measured["contender"] == "redlock, no token" {
			continue // the throughput shows what a token costs
		}
		var row []string
		for _, c := range benchColumns[part] {
			cell, err := c.cell(measured)
			if err != nil {
				return "", err
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 || len(heads) == 0 {
		return "", fmt.Errorf("the benchmark has no part %q", part)
	}
	return table(strings.Join(heads, " | "), rows), nil
}

// speed compares this library with redsync in a sentence, for readers who want no table: words are a number of workers.
func speed(words []string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	measured := func(workers, contender string) map[string]any {
		rows := r.rows("throughput")
		return rows[slices.IndexFunc(rows, func(row map[string]any) bool {
			return fmt.Sprint(row["workers"]) == workers && row["contender"] == contender
		})]
	}
	own, many, other := measured("1", "redlock"), measured(words[0], "redlock"), measured("1", "redsync")
	return fmt.Sprintf("Taking and releasing a free lock on five servers takes %.2f ms (redsync: %.2f ms), and %s workers do so %s\ntimes a second (%.1f times redsync), with all servers [on one machine](docs/reference/benchmarks.md).",
		own["p50_us"].(float64)/1000, other["p50_us"].(float64)/1000, words[0], timeline.Grouped(int64(many["cycles_per_second"].(float64))), many["ratio"]), nil
}
