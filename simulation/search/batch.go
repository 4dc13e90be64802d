package search

import (
	"context"
	"slices"

	"github.com/redquorum/redlock/simulation/record"
)

// Batch is the result of the Setups of a Space from one number up to another. Adjacent
// batches can be merged, in any grouping with the same outcome.
type Batch struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"` // exclusive
	Runs uint64 `json:"runs"`
	// Counts is how often each event happened that a check depends on.
	Counts map[string]int `json:"counts,omitempty"`
	// Violating is the number of runs with any violation that counts.
	Violating uint64   `json:"violating"`
	Findings  Findings `json:"findings,omitempty"`
}

// play plays Setup number i and adds what came of it.
func (c *cases) play(_ struct{}, i uint64, b *Batch) error {
	setup := c.at(i)
	r, err := c.run.play(context.Background(), setup)
	if err != nil {
		return err
	}
	b.Runs++
	b.count(r.Log.Counts())
	found := c.run.findings(i, setup, r)
	if c.space.Within {
		// A fault that is covered may break an assumption by its moment.
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Assumption != 0 })
	}
	for _, f := range found {
		b.Findings.Add(f)
	}
	if len(found) > 0 {
		b.Violating++
	}
	return nil
}

// merge takes in the batch that follows.
func (b *Batch) merge(next Batch) {
	b.Runs += next.Runs
	b.Violating += next.Violating
	b.count(next.Counts)
	for _, f := range next.Findings {
		b.Findings.Add(f)
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
// and how many runs showed it under any assumption.
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
