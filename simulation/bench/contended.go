package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Contended is what happened when many wanted one lock.
type Contended struct {
	Contender string  `json:"contender"`
	Processes int     `json:"processes"`
	Workers   int     `json:"workers_per_process"`
	PerSecond float64 `json:"handoffs_per_second"`
	P50       float64 `json:"wait_p50_ms"`
	P99       float64 `json:"wait_p99_ms"`
	Longest   float64 `json:"wait_longest_ms"`
	// Unfair is the longest wait over the median one.
	Unfair float64 `json:"longest_over_median"`
	// Fewest and Most are the turns of the workers that had these.
	Fewest int `json:"fewest_turns"`
	Most   int `json:"most_turns"`
	// Commands is how many commands clients sent per handoff.
	Commands float64 `json:"commands_per_handoff"`
	Failed   int     `json:"failed"`
}

// hold is how long a holder keeps the lock.
const hold = time.Millisecond

func contention(ctx context.Context, f fleet, list []contender, times int, long time.Duration, progress func(string)) ([]Contended, error) {
	long = max(long, time.Second) // short ones say nothing of fairness
	var result []Contended
	for _, shape := range []struct{ processes, workers int }{{1, 16}, {4, 4}} {
		var contestants []contender
		for _, c := range list {
			if c.contended && (c.servers > 0 || shape.processes == 1) {
				contestants = append(contestants, c)
			}
		}
		all := make([][]Contended, len(contestants))
		for round := range times {
			for i, c := range contestants {
				progress(fmt.Sprintf("one lock, %d processes of %d, round %d of %d: %s", shape.processes, shape.workers, round+1, times, c.name))
				one, err := measureContended(ctx, c, f, shape.processes, shape.workers, long)
				if err != nil {
					return nil, err
				}
				all[i] = append(all[i], one)
			}
		}
		for i, of := range all {
			result = append(result, medianContended(contestants[i].name, shape.processes, shape.workers, of))
		}
	}
	return result, nil
}

func medianContended(name string, processes, workers int, of []Contended) Contended {
	m := func(field func(Contended) float64) float64 { return medianOf(of, field) }
	r := Contended{
		Contender: name, Processes: processes, Workers: workers,
		PerSecond: m(func(c Contended) float64 { return c.PerSecond }),
		P50:       m(func(c Contended) float64 { return c.P50 }),
		P99:       m(func(c Contended) float64 { return c.P99 }),
		Longest:   m(func(c Contended) float64 { return c.Longest }),
		Unfair:    m(func(c Contended) float64 { return c.Unfair }),
		Commands:  m(func(c Contended) float64 { return c.Commands }),
		Fewest:    int(m(func(c Contended) float64 { return float64(c.Fewest) })),
		Most:      int(m(func(c Contended) float64 { return float64(c.Most) })),
	}
	for _, c := range of {
		r.Failed += c.Failed
	}
	return r
}

// contenderProcess is the word that makes this program one of the processes.
const contenderProcess = "contend"

// assignment is what such a process is told, on its standard input.
type assignment struct {
	Contender string
	Addrs     []string
	Name      string
	Workers   int
	Long      time.Duration
}

// turns is what it answers: the waits of each worker.
type turns struct {
	Waits  [][]time.Duration
	Failed int
}

func measureContended(ctx context.Context, c contender, f fleet, processes, workers int, long time.Duration) (Contended, error) {
	result := Contended{Contender: c.name, Processes: processes, Workers: workers}
	before, err := f.sent(c.sends)
	if err != nil {
		return result, err
	}
	task := assignment{c.name, f.addrs(), fmt.Sprintf("contended-%d", time.Now().UnixNano()), workers, long}
	all, err := startProcesses(ctx, processes, task)
	if err != nil {
		return result, fmt.Errorf("%s: %w", c.name, err)
	}
	after, err := f.sent(c.sends)
	if err != nil {
		return result, err
	}
	var waits []time.Duration
	result.Fewest = 1 << 62
	for _, of := range all {
		result.Failed += of.Failed
		for _, worker := range of.Waits {
			waits = append(waits, worker...)
			result.Fewest, result.Most = min(result.Fewest, len(worker)), max(result.Most, len(worker))
		}
	}
	slices.Sort(waits)
	result.PerSecond = float64(len(waits)) / long.Seconds()
	result.P50, result.P99, result.Longest = millis(quantile(waits, 0.5)), millis(quantile(waits, 0.99)), millis(quantile(waits, 1))
	result.Unfair = result.Longest / max(result.P50, 0.001)
	result.Commands = float64(after-before) / float64(max(1, len(waits)))
	return result, nil
}

// startProcesses runs the task in some processes and collects their answers.
func startProcesses(ctx context.Context, processes int, task assignment) ([]turns, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	all, errs := make([]turns, processes), make([]error, processes)
	var running sync.WaitGroup
	for i := range processes {
		running.Go(func() {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, exe, contenderProcess)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
			if err := cmd.Run(); err != nil {
				errs[i] = fmt.Errorf("a process: %w: %s", err, stderr.String())
				return
			}
			errs[i] = json.Unmarshal(stdout.Bytes(), &all[i])
		})
	}
	running.Wait()
	return all, errors.Join(errs...)
}

// contendAsProcess is the whole of such a process.
func contendAsProcess(stdin io.Reader, stdout, stderr io.Writer) int {
	var task assignment
	if err := json.NewDecoder(stdin).Decode(&task); err != nil {
		fmt.Fprintln(stderr, "bench: the assignment:", err)
		return exitUsage
	}
	list := contenders()
	i := slices.IndexFunc(list, func(c contender) bool { return c.name == task.Contender })
	if i < 0 {
		fmt.Fprintf(stderr, "bench: there is no contender %q\n", task.Contender)
		return exitUsage
	}
	l, err := list[i].open(task.Addrs)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFail
	}
	defer l.close()
	if err := json.NewEncoder(stdout).Encode(contend(l, task)); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitFail
	}
	return exitOK
}

// contend lets workers take one lock in turns, and notes how long each waited.
func contend(l locker, task assignment) turns {
	result := turns{Waits: make([][]time.Duration, task.Workers)}
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(task.Long)
	for w := range task.Workers {
		all.Go(func() {
			// Who waits at the end is let go: its wait counts if it was long.
			ctx, cancel := context.WithDeadline(context.Background(), end)
			defer cancel()
			for began := time.Now(); began.Before(end); began = time.Now() {
				unlock, err := l.lock(ctx, task.Name)
				waited := time.Since(began)
				if err != nil {
					if ctx.Err() == nil {
						mu.Lock()
						result.Failed++
						mu.Unlock()
					}
					continue
				}
				result.Waits[w] = append(result.Waits[w], waited)
				time.Sleep(hold)
				if err := unlock(context.WithoutCancel(ctx)); err != nil {
					mu.Lock()
					result.Failed++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return result
}
