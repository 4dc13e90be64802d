package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// slotsWorkload is for jobs that are due in several processes: two or three of them run the
// jobs of four slots, with windows that differ. Jobs take from a moment to longer than a slot, and a
// process that is rebooted goes on with the slot whose window is open. A job that is begun twice is a
// violation, unless so many servers were restarted that no quorum of the others is left.
func slotsWorkload() Workload {
	return Workload{
		Name: "slots", Title: "two or three processes run the job of each slot, at most once",
		Base: simulation.Config{
			Processes: 3,
			Quorum:    quorum.Config{TTL: 4 * time.Second, MaxTTL: 9 * time.Second},
		},
		Span:  16 * time.Second,
		Work:  func(simulation.Config) simulation.Workload { return slots },
		Judge: begunOnce,
	}
}

const (
	slotPeriod = 4 * time.Second
	slotSkew   = 100 * time.Millisecond
)

// What a process draws for each slot.
const (
	slotsLate = iota
	slotsTakes
	slotsShare
	_ // it is gone; the draws stay as they are
	slotings
)

func slots(c *simulation.Client) {
	if !joins(c, slotings*1000) {
		return
	}
	job, err := once.New(c.Coordinator, "k", once.Config{Window: []time.Duration{2, 30, 60}[c.Index%3] * time.Second, Skew: slotSkew})
	if err != nil {
		panic(err)
	}
	due, err := job.Slots(c.Context(), slotPeriod)
	if err != nil {
		panic(err)
	}
	round := 0
	for slot := range due {
		d := draws{c, round * slotings}
		c.Sleep(d.some(slotsLate, 500, 15000))
		err := job.Run(c.Context(), slot, func(_ context.Context, lease *quorum.Lease) error {
			c.Note(slotBegun + slot.Format(time.RFC3339Nano))
			takes := d.ms(slotsTakes, 400)
			if d.pick(slotsShare, 4) == 0 {
				takes *= 20
			}
			c.Sleep(takes)
			return lease.Err()
		})
		if err != nil {
			c.Note("not run: " + kindOfSlot(err))
		}
		if round++; round == 4 {
			return
		}
	}
}

const slotBegun = "begins "

// begunOnce adds a violation for each job that was begun twice, if a quorum of the servers kept its data
// from the first beginning to the second.
func begunOnce(r simulation.Result) simulation.Result {
	const blocking = 3 // of five servers
	type beginning struct {
		process string
		lost    map[string]bool // the servers that were restarted since
	}
	begun := map[string]*beginning{} // by slot
	for e := range r.Log.All() {
		if e.Kind == record.Suffered && e.Fault.Kind == fault.Restart {
			for _, b := range begun {
				b.lost[e.Place] = true
			}
		}
		slot, ok := strings.CutPrefix(e.Words, slotBegun)
		if e.Kind != record.Noted || !ok {
			continue
		}
		first := begun[slot]
		if first != nil && len(first.lost) < blocking {
			r = r.With(record.Violation{Kind: record.TwoHolders, At: e.At, Text: fmt.Sprintf("%s begins the job of %s, which %s has begun", e.Process, slot, first.process)})
		}
		if first == nil {
			begun[slot] = &beginning{e.Process, map[string]bool{}}
		}
	}
	return r
}

// kindOfSlot is why a job wasn't run, or wasn't finished.
func kindOfSlot(err error) string {
	for _, kind := range []error{once.ErrDone, once.ErrLate, once.ErrEarly, quorum.ErrLost, quorum.ErrClosed} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
