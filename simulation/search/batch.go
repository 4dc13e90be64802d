package search

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/record"
)

// Batch is the result of the Setups of a Space from one number up to another. Adjacent
// batches can be merged, in any grouping with the same outcome.
type Batch struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"` // exclusive
	// Runs is the number of runs, and Lines the number of lines of their traces.
	Runs  uint64 `json:"runs"`
	Lines uint64 `json:"lines"`
	// Traces is the sum of the first 64 bits of the traces' digests. It is the same on any
	// machine and with any number of workers.
	Traces uint64 `json:"traces"`
	// Counts is how often each event happened that a check depends on.
	Counts map[string]int `json:"counts,omitempty"`
	// Violating is the number of runs with any violation that counts.
	Violating uint64 `json:"violating"`
	// Findings is what was found, by kind of violation and cause, sorted.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one kind of violation with one cause.
type Finding struct {
	Kind record.ViolationKind `json:"kind"`
	// Cause is why, in all of these runs.
	Cause Cause `json:"cause"`
	// Runs is how many runs showed it.
	Runs uint64 `json:"runs"`
	// First is the number of the first of them, Setup is that run, and Text is the check's
	// description.
	First uint64 `json:"first"`
	Setup Setup  `json:"setup"`
	Text  string `json:"text"`
}

// compare orders findings by their kinds and causes.
func (f Finding) compare(g Finding) int {
	return cmp.Or(strings.Compare(string(f.Kind), string(g.Kind)), strings.Compare(string(f.Cause), string(g.Cause)))
}

// play plays Setup number i and adds what came of it.
func (c *cases) play(_ struct{}, i uint64, b *Batch) error {
	setup := c.at(i)
	r, err := c.run.play(context.Background(), setup)
	if err != nil {
		return err
	}
	b.Runs++
	text := []byte(r.Log.String())
	digest := sha256.Sum256(text)
	b.Lines += uint64(bytes.Count(text, []byte{'\n'}))
	b.Traces += binary.BigEndian.Uint64(digest[:])
	b.count(r.Log.Counts())
	kinds := slices.DeleteFunc(r.Kinds(), func(k record.ViolationKind) bool {
		// A fault that is covered may break an assumption by its moment.
		return c.space.Within && c.run.causeOf(k, setup, r) != Covered
	})
	if len(kinds) == 0 {
		return nil
	}
	b.Violating++
	violations := r.Log.Violations()
	for _, kind := range kinds {
		// If the checks saw no assumption broken in one of them, that one is the example.
		saw := observed(r, kind)
		first := slices.IndexFunc(violations, func(v record.Violation) bool { return v.Kind == kind && (saw != 0 || v.Assumption == 0) })
		text, _, _ := strings.Cut(violations[first].Text, "\n") // below it are stacks
		b.find(Finding{Kind: kind, Cause: c.run.causeOf(kind, setup, r), Runs: 1, First: i, Setup: setup, Text: text})
	}
	return nil
}

// find takes in a finding. The one with the lowest number stays the first.
func (b *Batch) find(f Finding) {
	at, known := slices.BinarySearchFunc(b.Findings, f, Finding.compare)
	if !known {
		b.Findings = slices.Insert(b.Findings, at, f)
		return
	}
	old := &b.Findings[at]
	runs := old.Runs + f.Runs
	if f.First < old.First {
		*old = f
	}
	old.Runs = runs
}

// merge takes in the batch that follows.
func (b *Batch) merge(next Batch) {
	b.Runs += next.Runs
	b.Lines += next.Lines
	b.Traces += next.Traces
	b.Violating += next.Violating
	b.count(next.Counts)
	for _, f := range next.Findings {
		b.find(f)
	}
}

func (b *Batch) count(counts map[string]int) {
	if b.Counts == nil {
		b.Counts = map[string]int{}
	}
	for what, n := range counts {
		b.Counts[what] += n
	}
}

// Unreached lists events on which a check may depend and that never happened. Without them
// "nothing found" proves little.
func (b *Batch) Unreached() []string {
	return slices.DeleteFunc(record.Counters(), func(what string) bool { return b.Counts[what] > 0 })
}

// Kinds lists the kinds of violations with the first finding of each, by number,
// and how many runs showed it with any cause.
func (b *Batch) Kinds() []Finding {
	var all []Finding
	for _, f := range b.Findings {
		i := slices.IndexFunc(all, func(g Finding) bool { return f.Kind == g.Kind })
		if i < 0 {
			all = append(all, f)
			continue
		}
		runs := all[i].Runs + f.Runs
		if f.First < all[i].First {
			all[i] = f
		}
		all[i].Runs = runs
	}
	return all
}
