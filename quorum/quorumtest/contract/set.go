package contract

import (
	"fmt"

	"github.com/redquorum/redlock/quorum/wire"
)

// checkSets: another set takes a resource over only if it is newer and the key is free. While
// the lock is held, a client of another set is told so, because it would wait in vain.
func checkSets(c *check) {
	for _, version := range []uint64{7, 7, 8, 8, 12, 100, 1 << 63} {
		c.granted(under(c.acquire("newer", "v"), wire.Set{Name: "main", Version: version, N: 3 + 2*int(version%3), Q: 3}))
		c.granted(c.release("newer", "v"))
	}
	for range 2 {
		c.granted(under(c.acquire("unnamed", "v"), wire.Set{N: 3, Q: 2}))
		c.granted(c.release("unnamed", "v"))
	}

	others := []wire.Set{
		{Name: "main", Version: 6, N: 5, Q: 3},
		{Name: "main", Version: 0, N: 5, Q: 3},
		{Name: "main", Version: 7, N: 3, Q: 3},
		{Name: "main", Version: 7, N: 5, Q: 4},
		{Name: "main", Version: 7, N: 15, Q: 3},
		{Name: "other", Version: 7, N: 5, Q: 3},
		{Name: "other", Version: 8, N: 5, Q: 3},
		{Name: "main2", Version: 70, N: 5, Q: 3},
		{Name: "mai", Version: 70, N: 5, Q: 3},
		{Name: "", Version: 8, N: 5, Q: 3},
	}
	newer := main
	newer.Version++
	c.granted(c.acquire("held", "v"))
	c.refused(under(c.acquire("held", "w"), newer))
	for range 2 {
		for _, set := range others {
			c.mismatch(under(c.acquire("held", "w"), set))
		}
		c.do(c.release("held", "v"))
	}
	for i, set := range others { // each resource has its own set
		c.granted(under(c.acquire(fmt.Sprint("elsewhere", i), "w"), set))
	}
	c.granted(c.acquire("held", "v")) // a refused client has left no mark

	// A name has no patterns.
	dotted := main
	dotted.Name, dotted.Version = "a.b", 1
	c.granted(under(c.acquire("dotted", "v"), dotted))
	c.granted(c.release("dotted", "v"))
	dotted.Name, dotted.Version = "axb", 2
	c.mismatch(under(c.acquire("dotted", "v"), dotted))

	// Versions are numbers: 10 is above 9, and those above 2^53 differ.
	for _, step := range [][2]uint64{{9, 10}, {99, 100}, {1<<53 + 2, 1<<53 + 3}} {
		older, newer := main, main
		older.Version, newer.Version = step[0], step[1]
		name := fmt.Sprint("from ", older.Version)
		for _, set := range []wire.Set{older, newer} {
			c.granted(under(c.acquire(name, "v"), set))
			c.granted(c.release(name, "v"))
		}
		c.mismatch(under(c.acquire(name, "v"), older))
	}
}
