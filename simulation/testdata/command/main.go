// Command command plays one run outside of go test and prints its digest.
package main

import (
	"fmt"
	"log"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
)

func main() {
	r, err := simulation.Run(5, simulation.Config{}, simulation.Schedule{{Kind: fault.Crash, Process: "c1", Nth: 8}}, func(c *simulation.Client) {
		if lease, err := c.TryAcquire("k"); err == nil {
			_ = c.Release(lease)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Log.Digest())
}
