package simulation_test

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

// withdraw is the user's critical section: it takes 70 from an account that has 100, if that much
// is left. It checks its lease before it writes.
func withdraw(c *simulation.Client) {
	lease, err := c.Acquire("account")
	if err != nil {
		c.Note("no lock: " + err.Error())
		return
	}
	spent, version, err := c.Read(lease)
	if err != nil || spent+70 > 100 || !c.Valid(lease) {
		_ = c.Release(lease) // nothing was done
		return
	}
	if err := c.Write(lease, spent+70, version); err == nil {
		c.Note("withdrew 70")
	}
	_ = c.Release(lease) // if it can't be released it expires
}

// A schedule written by hand: the holder is paused between its check of the lease and its write,
// for longer than the lease lasts.
func ExampleRun() {
	schedule := simulation.Schedule{
		{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
	}
	work := func(c *simulation.Client) {
		c.SleepUntil(time.Duration(c.Index) * 100 * time.Millisecond) // c1 first
		withdraw(c)
	}
	cfg := simulation.Config{Quorum: quorum.Config{TTL: 10 * time.Second, MaxWait: time.Minute}}
	for _, guard := range []simulation.Guarding{simulation.Unguarded, simulation.GuardAdmits} {
		cfg.Guard = guard
		r, err := simulation.Run(1, cfg, schedule, work)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Kinds(), "writes refused:", r.Log.Counts()["the guard refused a write"])
	}
	// Output:
	// [lost update stale write two holders] writes refused: 0
	// [] writes refused: 1
}
