package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/bench/stats"
)

// Instructions is what the client process executes in user mode for a cycle, without garbage
// collection. Other load on the machine changes it far less than it changes times.
type Instructions struct {
	Workers  int          `json:"workers"`
	PerCycle float64      `json:"instructions_per_cycle" join:"median"`
	Low      float64      `json:"instructions_low"`
	High     float64      `json:"instructions_high"`
	Rounds   stats.Rounds `json:"rounds,omitempty"`
}

// counter is a tool that counts a program's instructions.
type counter struct {
	name   string
	words  []string // the tool and its arguments
	result *regexp.Regexp
}

var (
	perfCounter = counter{
		"perf stat", []string{"perf", "stat", "-x,", "-e", "instructions:u"}, regexp.MustCompile(`(?m)^([0-9]+),[^,]*,instructions:u`),
	}
	valgrindCounter = counter{
		"valgrind's callgrind", []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"}, regexp.MustCompile(`(?m)^==[0-9]+== I +refs: +([0-9,]+)`),
	}
)

// errNoCounter is returned if there is no tool that can count here.
var errNoCounter = errors.New("instructions per cycle are left out: perf stat cannot count instructions on this machine, and valgrind is not installed")

// findCounter returns a tool that can count on this machine: a virtual machine often has no
// counters for perf.
func findCounter(ctx context.Context) (counter, error) {
	for _, c := range []counter{perfCounter, valgrindCounter} {
		if _, err := exec.LookPath(c.words[0]); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, c.words[0], append(c.words[1:len(c.words):len(c.words)], "true")...).CombinedOutput()
		if err != nil {
			continue
		}
		if _, err := c.count(string(out)); err == nil {
			return c, nil
		}
	}
	return counter{}, errNoCounter
}

// count reads the tool's output.
func (c counter) count(output string) (float64, error) {
	found := c.result.FindStringSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("%s has not counted: %s", c.name, tail(output))
	}
	return strconv.ParseFloat(strings.ReplaceAll(found[1], ",", ""), 64)
}

// counting makes a Go program fit to be counted. Valgrind executes one thread at a time in any
// case, and its callgrind ends at a signal that preempts a goroutine. What a garbage collection
// costs depends on what else the process has in memory, which is nothing here.
var counting = []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off"}

// instructionsPerCycle runs the client program twice, because the difference of two runs is free
// of its start and end.
func (c counter) instructionsPerCycle(ctx context.Context, p program, f fleet, workers int, quick bool) (float64, error) {
	few, many := 1000, 5000
	if workers < 8 {
		few, many = 500, 1500 // with fewer commands in each batch a cycle takes more instructions
	}
	if quick {
		few, many = few/5, many/5
	}
	var counts [2]float64
	for i, cycles := range []int{few, many} {
		if err := f.flush(); err != nil {
			return 0, err
		}
		task := client.Task{Measure: client.MeasureFixed, Addrs: f.addrs(), TTL: 30 * time.Second, Workers: workers, Cycles: cycles}
		_, output, err := p.run(ctx, task, counting, c.words...)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.name, err)
		}
		if counts[i], err = c.count(output); err != nil {
			return 0, err
		}
	}
	return (counts[1] - counts[0]) / float64(many-few), nil
}

func instructions(ctx context.Context, p program, f fleet, o options, progress func(string)) ([]Instructions, string, error) {
	c, err := findCounter(ctx)
	if err != nil {
		return nil, "", err
	}
	all, err := inTurns(o.times, len(o.counted), func(round, i int) (Instructions, error) {
		progress(fmt.Sprintf("instructions, round %d of %d: %d workers, by %s", round+1, o.times, o.counted[i], c.name))
		n, err := c.instructionsPerCycle(ctx, p, f[:servers], o.counted[i], o.quick)
		return Instructions{Workers: o.counted[i], PerCycle: n}, err
	})
	if err != nil {
		return nil, "", err
	}
	result := make([]Instructions, len(all))
	for i, of := range all {
		result[i] = stats.Join(of)
		result[i].Low, result[i].High = stats.Interval(result[i].Rounds["instructions_per_cycle"])
	}
	return result, c.name, nil
}
