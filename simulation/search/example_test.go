package search_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redquorum/redlock/simulation"
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
	registry := search.Registry{
		Workloads: []search.Workload{{Name: "transfer", Span: time.Second, Work: func(simulation.Config) simulation.Workload { return transfer }}},
		Designs: []search.Design{
			{Name: "lock", Apply: func(*simulation.Config) {}},
			{Name: "lock and guard", Apply: func(c *simulation.Config) { c.Guard = simulation.GuardAdmits }},
		},
	}
	for _, design := range []string{"lock", "lock and guard"} {
		space := search.Space{
			Setup:  search.Setup{Workload: "transfer", Design: design},
			Faults: []fault.Kind{fault.Pause},
		}
		report, err := search.Search(context.Background(), registry, space, search.Options{To: 100})
		if err != nil {
			log.Fatal(err)
		}
		found := false
		for _, f := range report.Kinds() {
			if f.Kind == record.LostUpdate {
				found = true
				small, _, err := search.Shrink(context.Background(), registry, f.Setup, f.Kind)
				if err != nil {
					log.Fatal(err)
				}
				fmt.Printf("%s: %s by %d fault, a %s\n", design, f.Kind, len(small.Schedule), small.Schedule[0].Kind)
			}
		}
		if !found {
			fmt.Printf("%s: no lost update\n", design)
		}
	}
	// Output:
	// lock: lost update by 1 fault, a pause
	// lock and guard: no lost update
}
