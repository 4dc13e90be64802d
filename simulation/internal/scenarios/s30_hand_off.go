package scenarios

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

const handOffSource = "this library's Lease.HandOff; other libraries let the value be copied (redsync's WithValue), and then two processes believe in one lease"

// handOn gives the lease to other processes.
func handOn(c *simulation.Client, lease simulation.Lease, to ...string) {
	handle, err := c.HandOff(lease)
	if err != nil {
		return
	}
	text, err := handle.Text()
	if err != nil {
		c.Note("no handle")
		return
	}
	for _, name := range to {
		c.Send(name, text, 0)
	}
}

// takeOver waits for a handle, and resumes its lease at a moment of the story or when
// the handle comes, whichever is later; nil if there is none by then.
func takeOver(c *simulation.Client, from time.Duration) simulation.Lease {
	until(c, from)
	for range 100 {
		if text, ok := c.Letter(); ok {
			handle, err := quorum.ParseHandle(text)
			if err != nil {
				c.Note("no handle")
				return nil
			}
			lease, err := c.Resume(handle)
			if err != nil {
				return nil
			}
			return lease
		}
		c.Sleep(50 * ms)
	}
	return nil
}

// holdUntil updates, twice, and releases.
func holdUntil(c *simulation.Client, lease simulation.Lease, end time.Duration) {
	if lease == nil {
		return
	}
	update(c, lease)
	until(c, end)
	if c.Valid(lease) {
		update(c, lease)
	}
	release(c, lease)
}

// handedOff are the designs that are played with a hand-off: no others have one.
var handedOff = group([]string{"default"}, fenced)

// pausedHandingOff is S30.
func pausedHandingOff() Scenario {
	return Scenario{
		ID:    "S30",
		Title: "The sender of a lease is paused in the middle of handing it off",
		Steps: []string{
			"0: c1 gets the lock, and keeps it alive",
			"1 000: c1 hands it off, and is paused for 2 000 within HandOff",
			"1 500 to 8 500: c3 asks again and again",
			"3 000: c1 runs again, and sends the handle; c2 resumes the lease, and holds it until 8 000",
			"3 500: c1 tries to extend what it has handed off",
		},
		Assumption: "a lease has one holder at any moment",
		Breaks:     "nothing: the lease has ended at c1 before there is a handle, and goes on under a value and a token of c2's own",
		Helps:      "HandOff ends the lease first",
		Source:     handOffSource,
		Base:       simulation.Config{Processes: 3},
		Schedule: simulation.Schedule{
			{Kind: simulation.Pause, Process: "c1", Op: "clock", Func: "quorum.(*Lease).HandOff", Nth: 1, For: 2 * time.Second, Stale: true},
		},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				lease := take(c)
				if lease == nil {
					return
				}
				c.KeepAlive(lease)
				update(c, lease)
				until(c, time.Second)
				handOn(c, lease, "c2")
				until(c, 3_500*ms)
				if c.Extend(lease) != nil {
					c.Note("not extended")
				}
				if c.Valid(lease) {
					update(c, lease)
				}
			},
			"c2": func(c *simulation.Client) { holdUntil(c, takeOver(c, 0), 8*time.Second) },
			"c3": keepTrying(1_500*ms, 20, 350*ms),
		}),
		Verdicts: expect(none.reaching("c2 acquired", "c2 write", "c3 refused"), handedOff...),
		Reached:  []string{"a process stopped at a reading of its clock", "c1 handed off", "c1 noted", "a lease was resumed"},
	}
}

// lateExtension is S30b.
func lateExtension() Scenario {
	return Scenario{
		ID:    "S30b",
		Title: "The sender's last extension arrives after the receiver has resumed",
		Steps: []string{
			"0: c1 gets the lock",
			"1 000: c1 extends it; the extensions to C, D and E take 3 000, and time out",
			"1 100: c1 hands the lease off, and c2 resumes it on all five",
			"4 000: the extensions arrive, and name a value that is no longer there",
			"1 500 to 11 000: c3 asks again and again; c2 releases at 7 000",
		},
		Assumption: "what was sent before the hand-off has arrived before it",
		Breaks:     "nothing: c2's keys have a value of their own, which the late extensions don't touch",
		Helps:      "Resume replaces the value, on each server in one step",
		Source:     handOffSource,
		Base:       simulation.Config{Processes: 3},
		Schedule:   delayed("extend", 3*time.Second, "CDE"),
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				lease := take(c)
				if lease == nil {
					return
				}
				update(c, lease)
				until(c, time.Second)
				if c.Extend(lease) != nil {
					c.Note("not extended")
				}
				handOn(c, lease, "c2")
				until(c, 5*time.Second) // its process lives on
			},
			"c2": func(c *simulation.Client) { holdUntil(c, takeOver(c, 0), 7*time.Second) },
			"c3": keepTrying(1_500*ms, 20, 500*ms),
		}),
		Free:     []Free{{Process: "c3", After: 7 * time.Second, By: 8 * time.Second}},
		Verdicts: expect(none.reaching("c2 acquired", "c2 write", "c3 refused", "c3 write"), handedOff...),
		Reached:  []string{"c1 noted", "c1 handed off", "extend refused", "a lease was resumed"},
	}
}

// handleTwice is S30c.
func handleTwice() Scenario {
	return Scenario{
		ID:    "S30c",
		Title: "A handle goes to two receivers, and the second comes after a release",
		Steps: []string{
			"0: c1 gets the lock; 1 000: it hands it off to c2 and to c3",
			"1 100: c2 resumes the lease; 1 500: c3 tries to; 2 000: c2 releases",
			"3 000: c3, whose handle is still good by its deadline, tries again: all five servers are free",
			"3 500: c4 gets the lock",
		},
		Assumption: "a handle is used once",
		Breaks:     "nothing: c3 is refused while c2 holds the lease, and afterwards",
		Helps:      "Resume counts only servers that still have the old value",
		Source:     handOffSource,
		Base:       simulation.Config{Processes: 4},
		Work: parts(map[string]simulation.Workload{
			"c1": func(c *simulation.Client) {
				until(c, 0)
				if lease := take(c); lease != nil {
					update(c, lease)
					until(c, time.Second)
					handOn(c, lease, "c2", "c3", "c3")
				}
			},
			"c2": func(c *simulation.Client) { holdUntil(c, takeOver(c, 1_100*ms), 2*time.Second) },
			"c3": func(c *simulation.Client) {
				holdUntil(c, takeOver(c, 1_500*ms), 3_600*ms)
				holdUntil(c, takeOver(c, 3*time.Second), 5*time.Second)
			},
			"c4": turn(3_500*ms, time.Second),
		}),
		Verdicts: expect(none.reaching("c2 write", "c3 refused", "c4 write").without("c3 acquired"), handedOff...),
		Reached:  []string{"c1 handed off", "a lease was resumed"},
	}
}
