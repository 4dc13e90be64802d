package book_test

import (
	"fmt"
	"math"
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

// benchResults is what the benchmark program has written (.ci/record bench). Figures differ from machine to machine; no
// test says what they must be.
type benchResults struct {
	origin.Origin
	Server, Go string
	Rounds     int
	Seconds    float64
	Parts      map[string][]benchRow
}

type benchRow struct {
	Contender, State                          string
	Servers, Processes, Workers, Keys, Leases int
	Figures                                   map[string]float64
	Ratios                                    map[string]struct{ Median float64 }
}

func benchmarks() (benchResults, error) { return readRecorded[benchResults]("testdata/bench.json") }

// figure is NaN if it wasn't measured.
func (r benchRow) figure(name string) float64 {
	if value, measured := r.Figures[name]; measured {
		return value
	}
	return math.NaN()
}

func (r benchRow) ratio() float64 { return r.Ratios["cycles_per_second"].Median }

// benchTables are the tables: their heads, and how a row is written.
var benchTables = map[string]struct {
	head string
	row  func(benchRow) string
}{
	"throughput": {"workers | contender | cycles/s | × redsync | p50 µs | p99 µs", func(r benchRow) string {
		return fmt.Sprintf("%d | %s | %.0f | %.2f | %.0f | %.0f", r.Workers, r.Contender, r.figure("cycles_per_second"), r.ratio(), r.figure("p50_us"), r.figure("p99_us"))
	}},
	"sick": {"one of five is | contender | p50 ms | p99 ms | failed | goroutines", func(r benchRow) string {
		return fmt.Sprintf("%s | %s | %.2f | %.2f | %.0f | %.0f", r.State, r.Contender, r.figure("p50_us")/1000, r.figure("p99_us")/1000, r.figure("failed"), r.figure("goroutines"))
	}},
	"contended": {"processes × workers | contender | handoffs/s | longest wait, ms | turns, fewest to most", func(r benchRow) string {
		return fmt.Sprintf("%d × %d | %s | %.0f | %.0f | %.0f to %.0f", r.Processes, r.Workers, r.Contender, r.figure("cycles_per_second"), r.figure("wait_longest_ms"), r.figure("fewest_turns"), r.figure("most_turns"))
	}},
	"held": {"leases | bytes/lease | client's, servers' CPU, cores | acquired in s | lost", func(r benchRow) string {
		return fmt.Sprintf("%d | %.0f | %.2f, %.2f | %.1f | %.0f", r.Leases, r.figure("heap_bytes_per_lease"), r.figure("client_cpu_cores"), r.figure("server_cpu_cores"), r.figure("acquired_in_seconds"), r.figure("leases_lost"))
	}},
	"scale": {"servers | keys (0: one for each worker) | cycles/s | ratio | p99 µs", func(r benchRow) string {
		return fmt.Sprintf("%d | %d | %.0f | %.2f | %.0f", r.Servers, r.Keys, r.figure("cycles_per_second"), r.ratio(), r.figure("p99_us"))
	}},
}

// benchTable is the table of a part: words are the part and, if not all rows are shown, the numbers of workers that
// are.
func benchTable(words []string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	part, workers := words[0], words[1:]
	var rows [][]string
	for _, row := range r.Parts[part] {
		if len(workers) == 0 || slices.Contains(workers, fmt.Sprint(row.Workers)) {
			rows = append(rows, []string{benchTables[part].row(row)})
		}
	}
	text := table(benchTables[part].head, rows)
	if len(rows) == 0 || strings.Contains(text, "NaN") {
		return "", fmt.Errorf("the benchmark has not measured all of the part %q:\n%s", part, text)
	}
	return text, nil
}

// benchSettings says how the benchmarks were recorded.
func benchSettings([]string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Medians of %d rounds of %v s, with %s and %s; clients and servers share %d cores of %s. Recorded on %.8s, %s.",
		r.Rounds, r.Seconds, r.Server, r.Go, r.Cores, r.CPU, r.Commit, r.Date)
	lock, err := origin.Lock("..")
	if r.Lock != lock {
		text += " **The lock has changed since then.**"
	}
	return text, err
}

// speed compares this library with redsync in a sentence, for readers who want no table: words are a number of workers.
func speed(words []string) (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	measured := map[string]benchRow{}
	for _, row := range r.Parts["throughput"] {
		measured[fmt.Sprint(row.Workers, " ", row.Contender)] = row
	}
	own, many, other := measured["1 redlock"], measured[words[0]+" redlock"], measured["1 redsync"]
	return fmt.Sprintf("Taking and releasing a free lock on five servers takes %.2f ms (redsync: %.2f ms), and %s workers do so %s\ntimes a second (%.1f times redsync), with all servers [on one machine](docs/reference/benchmarks.md).",
		own.figure("p50_us")/1000, other.figure("p50_us")/1000, words[0], timeline.Grouped(int64(many.figure("cycles_per_second"))), many.ratio()), nil
}
