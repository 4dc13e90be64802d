//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// report is what was measured.
type report struct {
	Candidates int      `json:"candidates"`
	CPUs       int      `json:"cpus"`
	Rows       []result `json:"rows"`
}

// result is the times from a signal to the leader until another candidate led.
type result struct {
	TTL    time.Duration   `json:"ttl_ns"`
	Signal string          `json:"signal"`
	Took   []time.Duration `json:"took_ns"` // sorted
}

// signals are those that are measured.
var signals = []struct {
	name   string
	signal syscall.Signal
}{{"kill -9", syscall.SIGKILL}, {"SIGSTOP", syscall.SIGSTOP}, {"SIGTERM", syscall.SIGTERM}}

func measureAll(ctx context.Context, o options, stdout, stderr io.Writer) error {
	r := report{Candidates: o.candidates, CPUs: runtime.NumCPU()}
	ttls := []time.Duration{2 * time.Second, 10 * time.Second}
	if o.oneTTL {
		ttls = []time.Duration{o.ttl}
	}
	for _, ttl := range ttls {
		for _, s := range signals {
			one := result{TTL: ttl, Signal: s.name}
			took, err := measure(ctx, ttl, o.candidates, o.measure, s.signal)
			if err != nil {
				return fmt.Errorf("%s with a TTL of %v: %w", s.name, ttl, err)
			}
			one.Took = took
			r.Rows = append(r.Rows, one)
			fmt.Fprintln(stderr, one)
		}
	}
	if o.format == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", " ")
		return encoder.Encode(r)
	}
	for _, row := range r.Rows {
		fmt.Fprintln(stdout, row)
	}
	return nil
}

// String is a row of the text.
func (r result) String() string {
	n := len(r.Took)
	return fmt.Sprintf("TTL %v, %s: another candidate leads after %v (least), %v (median), %v (most), of %d",
		r.TTL, r.Signal, r.Took[0].Round(time.Millisecond), r.Took[n/2].Round(time.Millisecond), r.Took[n-1].Round(time.Millisecond), n)
}

// measure sends a signal to the leader, several times.
func measure(ctx context.Context, ttl time.Duration, candidates, times int, s syscall.Signal) ([]time.Duration, error) {
	g, err := startGroup(ttl, candidates)
	if err != nil {
		return nil, err
	}
	defer g.close()
	anybody := func(int) bool { return true }
	ready := candidates
	var leader event
	for ready > 0 || leader.pid == 0 {
		select {
		case e := <-g.events:
			switch e.what {
			case campaigns:
				ready--
			case leads:
				leader = e
			}
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("%w, or not all of them are up, after 10 s", errNoLeader)
		}
	}
	var took []time.Duration
	for range times {
		// At any moment between two extensions.
		select {
		case <-time.After(ttl/4 + rand.N(ttl/2)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		began := time.Now()
		if err := g.signal(leader.pid, s); err != nil {
			return nil, err
		}
		follower, err := g.next(leads, func(pid int) bool { return pid != leader.pid })
		if err != nil {
			return nil, err
		}
		took = append(took, follower.at.Sub(began))
		if s == syscall.SIGSTOP {
			if err := g.signal(leader.pid, syscall.SIGCONT); err != nil {
				return nil, err
			}
			// It finds that its term is over.
			if _, err := g.next(stops, func(pid int) bool { return pid == leader.pid }); err != nil {
				return nil, err
			}
		} else {
			if err := g.start(); err != nil {
				return nil, err
			}
			if _, err := g.next(campaigns, anybody); err != nil {
				return nil, err
			}
		}
		leader = follower
	}
	slices.Sort(took)
	return took, nil
}
