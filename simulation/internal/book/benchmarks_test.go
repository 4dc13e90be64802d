package book_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	generators["bench-throughput"] = func([]string) (string, error) { return throughputTable() }
	generators["bench-sick"] = func([]string) (string, error) { return sickTable() }
	generators["bench-contended"] = func([]string) (string, error) { return contendedTable() }
	generators["bench-setting"] = func([]string) (string, error) { return benchSetting() }
	generators["bench-held"] = func([]string) (string, error) { return heldTable() }
	generators["bench-scale"] = func([]string) (string, error) { return scaleTable() }
	generators["bench-against"] = func([]string) (string, error) { return againstTable() }
	generators["bench-goals"] = func([]string) (string, error) { return goalTable() }
}

// benchFile has the latest results of the benchmark program:
//
//	go -C simulation/bench run . -rounds 3 -for 1s -json ../../docs/testdata/bench.json
//
// Figures differ from machine to machine; no test says what they must be.
const benchFile = "testdata/bench.json"

// benchResults mirrors what the program writes, because the program is in another module, which
// this one can't import.
type benchResults struct {
	Contenders []struct {
		Name    string `json:"name"`
		Note    string `json:"note"`
		Servers int    `json:"servers"`
	} `json:"contenders"`
	Throughput []throughput `json:"throughput"`
	Sick       []sickness   `json:"sick"`
	Contended  []contended  `json:"contended"`
	Scale      []struct {
		Servers int `json:"servers"`
		Keys    int `json:"keys"`
		throughput
	} `json:"scale"`
	Held []struct {
		Leases         int     `json:"leases"`
		By             string  `json:"kept_by"`
		TTL            float64 `json:"ttl_seconds"`
		Heap           float64 `json:"heap_bytes_per_lease"`
		Stacks         float64 `json:"stack_bytes_per_lease"`
		Goroutines     int     `json:"goroutines"`
		GoroutinesMost int     `json:"goroutines_most"`
		ClientCPU      float64 `json:"client_cpu_cores"`
		ServerCPU      float64 `json:"server_cpu_cores"`
		Acquired       float64 `json:"acquired_in_seconds"`
		Lost           int     `json:"leases_lost"`
	} `json:"held"`
	Against struct {
		This    string `json:"this"`
		Other   string `json:"other"`
		Figures []struct {
			Part   string  `json:"part"`
			What   string  `json:"what"`
			Figure string  `json:"figure"`
			This   float64 `json:"this"`
			Other  float64 `json:"other"`
			Ratio  float64 `json:"ratio"`
			Low    float64 `json:"ratio_low"`
			High   float64 `json:"ratio_high"`
		} `json:"figures"`
	} `json:"against"`
	Recorded map[string]setting `json:"recorded"`
}

// setting is how a part was measured.
type setting struct {
	Server  string  `json:"redis_version"`
	Go      string  `json:"go"`
	Cores   int     `json:"cores"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	Load    float64 `json:"load_before"`
}

// String is a sentence of the page.
func (s setting) String() string {
	rounds := "one round"
	if s.Rounds > 1 {
		rounds = fmt.Sprintf("medians of %d rounds", s.Rounds)
	}
	if s.Seconds > 0 {
		rounds += fmt.Sprintf(" of %.3g s", s.Seconds)
	}
	text := rounds + ", in turns"
	if s.Load > 0 {
		text += fmt.Sprintf(", on %d cores that had a load of %.1f before", s.Cores, s.Load)
	}
	return text
}

type throughput struct {
	Contender string  `json:"contender"`
	Workers   int     `json:"workers"`
	PerSecond float64 `json:"cycles_per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	ClientCPU float64 `json:"client_cpu_us_per_cycle"`
	ServerCPU float64 `json:"server_cpu_us_per_cycle"`
	Allocs    float64 `json:"allocs_per_cycle"`
	Failed    int     `json:"failed"`
	Ratio     float64 `json:"ratio"`
	Low       float64 `json:"ratio_low"`
	High      float64 `json:"ratio_high"`
}

type sickness struct {
	Contender  string  `json:"contender"`
	State      string  `json:"state"`
	Workers    int     `json:"workers"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Worst      float64 `json:"worst_ms"`
	Failed     int     `json:"failed"`
	Goroutines int     `json:"goroutines"`
	HeapMB     float64 `json:"heap_mb"`
	LeftThere  int     `json:"keys_left_on_healthy"`
	LeftLater  int     `json:"keys_left_on_sick"`
}

type contended struct {
	Contender string  `json:"contender"`
	Processes int     `json:"processes"`
	Workers   int     `json:"workers_per_process"`
	PerSecond float64 `json:"handoffs_per_second"`
	P99       float64 `json:"wait_p99_ms"`
	Longest   float64 `json:"wait_longest_ms"`
	Fewest    int     `json:"fewest_turns"`
	Most      int     `json:"most_turns"`
	Commands  float64 `json:"commands_per_handoff"`
	Failed    int     `json:"failed"`
}

func benchmarks() (benchResults, error) { return readRecorded[benchResults](benchFile) }

// The file is complete, and has the contenders named on the page.
func TestRecordedBenchmarks(t *testing.T) {
	r, err := benchmarks()
	require.NoError(t, err)
	for _, name := range []string{"redsync", "redsync, fail-fast", "rueidislock, 3 keys", "redislock", "redlock", "redlock, no token"} {
		for _, workers := range []int{1, 16, 128, 1024} {
			assert.Positive(t, r.cycles(name, workers).PerSecond, "%s with %d workers", name, workers)
		}
	}
	assert.Len(t, r.Scale, 7)
	assert.Len(t, r.Held, 4)
	assert.NotEmpty(t, r.Against.Figures)
	for _, part := range []string{"throughput", "sick", "contended", "scale", "held", "against"} {
		assert.Positive(t, r.Recorded[part].Rounds, part)
	}
	assert.NotEmpty(t, r.Sick)
	assert.NotEmpty(t, r.Contended)
}

func (r benchResults) cycles(name string, workers int) throughput {
	for _, t := range r.Throughput {
		if t.Contender == name && t.Workers == workers {
			return t
		}
	}
	return throughput{}
}

func (r benchResults) sick(name, state string, workers int) sickness {
	for _, s := range r.Sick {
		if s.Contender == name && s.State == state && s.Workers == workers {
			return s
		}
	}
	return sickness{}
}

func (r benchResults) turns(name string, processes int) contended {
	for _, c := range r.Contended {
		if c.Contender == name && c.Processes == processes {
			return c
		}
	}
	return contended{}
}

func benchSetting() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range r.Contenders {
		servers := map[int]string{1: "one"}[c.Servers]
		if servers == "" {
			servers = "five"
		}
		rows = append(rows, []string{c.Name, servers, c.Note})
	}
	with := r.Recorded["throughput"]
	return fmt.Sprintf("Five redis-server %s on loopback, clients and servers on the same %d cores, %s, %v.\n\n%s",
		with.Server, with.Cores, with.Go, with, table("contender | servers asked | what it is", rows)), nil
}

func throughputTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, t := range r.Throughput {
		rows = append(rows, []string{
			fmt.Sprint(t.Workers), t.Contender, fmt.Sprintf("%.0f", t.PerSecond), t.ratio(),
			fmt.Sprintf("%.0f", t.P50), fmt.Sprintf("%.0f", t.P99), fmt.Sprintf("%.1f", t.ClientCPU), fmt.Sprintf("%.1f", t.ServerCPU),
			fmt.Sprintf("%.0f", t.Allocs), fmt.Sprint(t.Failed),
		})
	}
	return table("workers | contender | cycles/s | × redsync | p50 µs | p99 µs | client CPU µs/cycle | servers' CPU µs/cycle | allocations/cycle | failed", rows), nil
}

// ratio is the ratio with its interval, if there was more than one round.
func (t throughput) ratio() string {
	if t.Low == t.High {
		return fmt.Sprintf("%.2f", t.Ratio)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", t.Ratio, t.Low, t.High)
}

func sickTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, s := range r.Sick {
		rows = append(rows, []string{
			s.State, fmt.Sprint(s.Workers), s.Contender, fmt.Sprintf("%.2f", s.P50), fmt.Sprintf("%.2f", s.P99), fmt.Sprintf("%.1f", s.Worst),
			fmt.Sprint(s.Failed), fmt.Sprint(s.Goroutines), fmt.Sprintf("%.0f", s.HeapMB), fmt.Sprint(s.LeftThere), fmt.Sprint(s.LeftLater),
		})
	}
	return table("one of five is | workers | contender | p50 ms | p99 ms | worst ms | failed | goroutines | heap MB | keys left on the others | on it, 1 s after it is back", rows), nil
}

func contendedTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range r.Contended {
		rows = append(rows, []string{
			fmt.Sprintf("%d × %d", c.Processes, c.Workers), c.Contender, fmt.Sprintf("%.0f", c.PerSecond), fmt.Sprintf("%.1f", c.P99),
			fmt.Sprintf("%.1f", c.Longest), fmt.Sprintf("%d to %d", c.Fewest, c.Most), fmt.Sprintf("%.1f", c.Commands), fmt.Sprint(c.Failed),
		})
	}
	return table("processes × workers | contender | handoffs/s | wait p99 ms | longest ms | turns, fewest to most | commands/handoff | failed", rows), nil
}

func scaleTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, s := range r.Scale {
		keys := "one for each worker"
		if s.Keys == 1 {
			keys = "one for all"
		} else if s.Keys > 1 {
			keys = fmt.Sprintf("%d, a random one each time", s.Keys)
		}
		rows = append(rows, []string{
			fmt.Sprint(s.Servers), keys, fmt.Sprintf("%.0f", s.PerSecond), s.ratio(), fmt.Sprintf("%.0f", s.P50), fmt.Sprintf("%.0f", s.P99),
			fmt.Sprintf("%.1f", s.ClientCPU), fmt.Sprintf("%.1f", s.ServerCPU), fmt.Sprint(s.Failed),
		})
	}
	return table("servers | keys | cycles/s | ratio | p50 µs | p99 µs | client CPU µs/cycle | servers' CPU µs/cycle | failed", rows) + settingLine(r, "scale"), nil
}

// settingLine is the line below a table that was measured separately.
func settingLine(r benchResults, part string) string {
	return fmt.Sprintf("\nThese are %v.\n", r.Recorded[part])
}

func heldTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, h := range r.Held {
		heap, stacks, goroutines := fmt.Sprintf("%.0f", h.Heap), fmt.Sprintf("%.0f", max(0, h.Stacks)), fmt.Sprintf("%d, %d", h.Goroutines, h.GoroutinesMost)
		if h.Lost > 0 {
			heap, stacks, goroutines = "-", "-", "-" // these are of fewer leases
		}
		rows = append(rows, []string{
			fmt.Sprint(h.Leases), "`" + h.By + "`", heap, stacks, goroutines,
			fmt.Sprintf("%.2f", h.ClientCPU), fmt.Sprintf("%.2f", h.ServerCPU), fmt.Sprintf("%.1f", h.Acquired), fmt.Sprint(h.Lost),
		})
	}
	return table("leases | by | heap bytes/lease | stack bytes/lease | goroutines: median, most | client CPU, cores | servers' CPU, cores | acquired in s | lost", rows) + settingLine(r, "held"), nil
}

func againstTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	a := r.Against
	var rows [][]string
	for _, f := range a.Figures {
		if f.This == 0 && f.Other == 0 {
			continue
		}
		ratio, interval := "-", "-"
		if f.Ratio != 0 {
			ratio, interval = fmt.Sprintf("%.3f", f.Ratio), fmt.Sprintf("%.3f to %.3f", f.Low, f.High)
		}
		rows = append(rows, []string{f.Part + ", " + f.What, f.Figure, digits(f.This), digits(f.Other), ratio, interval})
	}
	return table(fmt.Sprintf("what | figure | %s | %s | ratio | interval", a.This, a.Other), rows) + settingLine(r, "against"), nil
}

// digits keeps the significant digits of a figure.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// moves is how much a figure varies between runs of the benchmark.
const moves = 0.1

// verdict says whether an aim is met, if the figure is further from it than it varies.
func verdict(measured, aim float64, met bool) string {
	switch {
	case measured != aim && math.Abs(measured-aim) <= moves*aim:
		return "too close to tell"
	case met:
		return "yes"
	default:
		return "no"
	}
}

func TestVerdictOnAnAim(t *testing.T) {
	assert.Equal(t, "too close to tell", verdict(8.09, 8, true))
	assert.Equal(t, "too close to tell", verdict(1.1, 1.2, false))
	assert.Equal(t, "yes", verdict(0.1, 1, true))
	assert.Equal(t, "yes", verdict(0, 0, true), "no leases were lost, and none was to be")
	assert.Equal(t, "no", verdict(1.36, 2, false))
}

// goalTable puts each aim beside its measurement, met or not.
func goalTable() (string, error) {
	r, err := benchmarks()
	if err != nil {
		return "", err
	}
	over := func(workers int, rival string) float64 {
		return r.cycles("redlock", workers).PerSecond / max(1, r.cycles(rival, workers).PerSecond)
	}
	var rows [][]string
	goal := func(what, aim string, measured float64, met string) {
		rows = append(rows, []string{what, aim, fmt.Sprintf("%.3g", measured), met})
	}
	atLeast := func(what string, measured, least float64) {
		goal(what, fmt.Sprintf("at least %.3g", least), measured, verdict(measured, least, measured >= least))
	}
	atMost := func(what string, measured, most float64) {
		goal(what, fmt.Sprintf("at most %.3g", most), measured, verdict(measured, most, measured <= most))
	}
	atLeast("1 worker, × redsync", r.cycles("redlock", 1).Ratio, 1.2)
	atMost("1 worker, p50 over fail-fast redsync's", r.cycles("redlock", 1).P50/max(1, r.cycles("redsync, fail-fast", 1).P50), 1)
	atLeast("16 workers, × redsync", r.cycles("redlock", 16).Ratio, 4)
	atLeast("128 workers, × redsync", r.cycles("redlock", 128).Ratio, 8)
	atLeast("128 workers, × rueidislock with 3 keys on one server", over(128, "rueidislock, 3 keys"), 2)
	atLeast("128 workers, × redislock on one server", over(128, "redislock"), 1)
	atLeast("1 024 workers, of the throughput with 128", r.cycles("redlock", 1024).PerSecond/max(1, r.cycles("redlock", 128).PerSecond), 0.9)
	atMost("128 workers, client CPU over redsync's", r.cycles("redlock", 128).ClientCPU/max(1, r.cycles("redsync", 128).ClientCPU), 0.25)
	atMost("128 workers, allocations over redsync's", r.cycles("redlock", 128).Allocs/max(1, r.cycles("redsync", 128).Allocs), 1)
	atLeast("128 workers, of the throughput without tokens", over(128, "redlock, no token"), 0.8)
	for _, state := range []string{"slow", "hung", "killed"} {
		well, ill := r.sick("redlock", "healthy", 128), r.sick("redlock", state, 128)
		atMost("one "+state+", 128 workers: p50 over the healthy run's", ill.P50/max(0.001, well.P50), 1.2)
		atMost("one "+state+", 128 workers: p99 over the healthy run's", ill.P99/max(0.001, well.P99), 3)
		atMost("one "+state+", 128 workers: worst, ms", ill.Worst, 200)
		atMost("one "+state+", 128 workers: keys left", float64(ill.LeftThere+ill.LeftLater), 0)
	}
	one, four := r.turns("redlock", 1), r.turns("redlock", 4)
	atLeast("one lock, one process: handoffs/s", one.PerSecond, 850)
	atMost("one lock, one process: wait p99, ms", one.P99, 30)
	atLeast("one lock, four processes: handoffs/s", four.PerSecond, 750)
	atMost("one lock, four processes: wait p99, ms", four.P99, 60)
	for _, own := range []contended{one, four} {
		of := fmt.Sprintf("one lock, %d × %d: commands a handoff, over the thriftiest rival's", own.Processes, own.Workers)
		rival := math.Inf(1)
		for _, c := range r.Contended {
			if c.Processes == own.Processes && c.Commands > 0 && !strings.HasPrefix(c.Contender, "redlock") {
				rival = min(rival, c.Commands)
			}
		}
		goal(of, "below 1", own.Commands/rival, verdict(own.Commands/rival, 1, own.Commands < rival))
	}
	atLeast("one lock, one process: fewest turns over most", float64(one.Fewest)/float64(max(1, one.Most)), 0.5)
	atLeast("one lock, four processes: fewest turns over most", float64(four.Fewest)/float64(max(1, four.Most)), 0.5)
	return table("aim | wanted | measured | met", rows), nil
}
