package designs_test

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
)

// The first client checks its lease, finds it valid, and is paused for 12 s before its write
// arrives. The second gets the lock meanwhile, reads, and writes later. Which design keeps
// both updates?
func Example() {
	pause := simulation.Schedule{{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second}}
	work := func(c *simulation.Client) {
		c.SleepUntil(time.Duration(c.Index) * 11 * time.Second)
		lease, err := c.TryAcquire("stock")
		if err != nil {
			return
		}
		value, version, err := c.Read(lease)
		c.Sleep(time.Duration(c.Index) * 4 * time.Second)
		if err == nil && c.Valid(lease) {
			_ = c.Write(lease, value+1, version)
		}
		c.Sleep(time.Second)
		_ = c.Release(lease)
	}
	for _, name := range []string{"setpx-cad", "redlock", "default", "token-write", "token-admit"} {
		d, err := designs.ByName(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := simulation.Run(1, d.Configure(simulation.Config{}), pause, work)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-12s %v\n", name, r.Kinds())
	}
	// Output:
	// setpx-cad    [lost update stale write two holders]
	// redlock      [lost update stale write two holders]
	// default      [lost update stale write two holders]
	// token-write  [lost update stale write two holders]
	// token-admit  []
}
