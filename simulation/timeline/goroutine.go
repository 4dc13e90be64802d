package timeline

import (
	"strings"

	"github.com/redquorum/redlock/simulation"
)

// A process's further goroutines have names of their own, see simulation.Who.

func (m Mark) who() string   { return simulation.Who(m.Lane, m.Goroutine) }
func (b Belief) who() string { return simulation.Who(b.Process, b.Goroutine) }
func (a Access) who() string { return simulation.Who(a.Process, a.Goroutine) }

// processOf is the process that a goroutine belongs to.
func processOf(who string) string {
	process, _, _ := strings.Cut(who, ".")
	return process
}

// severalGoroutines reports whether more than one goroutine of a process uses the lock.
func (t *Timeline) severalGoroutines() bool {
	for _, m := range t.Marks {
		if m.Goroutine > 0 {
			return true
		}
	}
	return false
}
