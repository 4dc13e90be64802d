package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
	"golang.org/x/sync/errgroup"
)

// Contended is the result of a competition for one lock.
type Contended struct {
	Contender string  `json:"contender"`
	Processes int     `json:"processes"`
	Workers   int     `json:"workers_per_process"`
	PerSecond float64 `json:"handoffs_per_second" join:"median"`
	Longest   float64 `json:"wait_longest_ms" join:"median"`
	// Fewest and Most are the smallest and largest number of turns of a worker.
	Fewest int `json:"fewest_turns" join:"median"`
	Most   int `json:"most_turns" join:"median"`
	// Commands is the number of commands that clients sent per hand-off.
	Commands float64 `json:"commands_per_handoff" join:"median"`
	Failed   int     `json:"failed" join:"sum"`
}

// hold is how long a holder keeps the lock.
const hold = time.Millisecond

func measuredContention(m measurement, results *Results) error {
	long, times := max(m.options.long, time.Second), m.options.times // fairness takes some time to show
	list := slices.DeleteFunc(contenders(), func(c contender) bool { return !c.contended })
	for _, shape := range []struct{ processes, workers int }{{1, 16}, {4, 4}} {
		all, err := inTurns(times, len(list), func(round, i int) (Contended, error) {
			m.progress(fmt.Sprintf("one lock, %d processes of %d, round %d of %d: %s", shape.processes, shape.workers, round+1, times, list[i].name))
			return measureContended(m.ctx, list[i], m.fleet[:servers], shape.processes, shape.workers, long)
		})
		if err != nil {
			return err
		}
		for _, of := range all {
			results.Contended = append(results.Contended, stats.Join(of))
		}
	}
	return nil
}

// contenderProcess is the argument with which this program is one of the processes.
const contenderProcess = "contend"

// assignment is the standard input of such a process.
type assignment struct {
	Contender string
	Addrs     []string
	Name      string
	Workers   int
	Long      time.Duration
}

// turns is its output: the waits of each worker.
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
	result.PerSecond = float64(len(waits)) / long.Seconds()
	result.Longest = stats.Millis(slices.Max(append(waits, 0)))
	result.Commands = float64(after-before) / float64(max(1, len(waits)))
	return result, nil
}

// startProcesses runs the task in several processes and collects their output.
func startProcesses(ctx context.Context, processes int, task assignment) ([]turns, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := make([]turns, processes)
	var running errgroup.Group
	for i := range all {
		running.Go(func() error { return assigned(ctx, task, &all[i], exe, contenderProcess) })
	}
	return all, running.Wait()
}

// contendAsProcess runs such a process.
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

// contend has workers acquire one lock in turns, and returns how long each waited.
func contend(l locker, task assignment) turns {
	// A wait at the end is cancelled, and does not count.
	ctx, cancel := context.WithTimeout(context.Background(), task.Long)
	defer cancel()
	var mu sync.Mutex // of a worker that hangs for longer than Work does
	waits := make([][]time.Duration, task.Workers)
	_, failed := client.Work(context.Background(), task.Workers, task.Long, func(w int, _ *rand.Rand) error {
		began := time.Now()
		unlock, err := l.lock(ctx, task.Name)
		if err != nil && ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		mu.Lock()
		waits[w] = append(waits[w], time.Since(began))
		mu.Unlock()
		time.Sleep(hold)
		return unlock(context.WithoutCancel(ctx))
	})
	mu.Lock()
	defer mu.Unlock()
	return turns{slices.Clone(waits), failed}
}
