package search_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// The user's critical section: what can break it, and the fewest faults that do.
func Example() {
	transfer := func(c *simulation.Client) {
		lease, err := c.Acquire("account")
		if err != nil {
			return
		}
		if balance, version, err := c.Read(lease); err == nil {
			c.Sleep(200 * time.Millisecond) // it asks another service
			_ = c.Write(lease, balance+10, version)
		}
		_ = c.Release(lease)
	}
	workload := search.Workload{Work: transfer, Span: time.Second}
	for _, design := range []designs.Design{
		{Name: "lock", Apply: func(*simulation.Config) {}},
		{Name: "lock and guard", Apply: func(c *simulation.Config) { c.Guard = simulation.GuardAdmits }},
	} {
		space := search.Space{Workload: workload, Design: design, Faults: []fault.Kind{fault.Pause}}
		report, err := search.Search(context.Background(), space, 100, nil)
		if err != nil {
			log.Fatal(err)
		}
		found := false
		for _, f := range report.Findings {
			if f.Kind == record.LostUpdate {
				found = true
				small, _, err := space.Shrink(f)
				if err != nil {
					log.Fatal(err)
				}
				schedule := small.Schedule
				fmt.Printf("%s: %s by %d fault, a %s\n", design.Name, f.Kind, len(schedule), schedule[0].Kind)
			}
		}
		if !found {
			fmt.Printf("%s: no lost update\n", design.Name)
		}
	}
	// Output:
	// lock: lost update by 1 fault, a pause
	// lock and guard: no lost update
}
