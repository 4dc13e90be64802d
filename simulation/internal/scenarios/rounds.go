package scenarios

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// rounds counts the rounds of each process, by its index.
type rounds []atomic.Int64

// counting makes Lockers that count.
func (n rounds) counting(inner func(simulation.Process) (simulation.Locker, error)) func(simulation.Process) (simulation.Locker, error) {
	return func(p simulation.Process) (simulation.Locker, error) {
		p.Config.Hooks = p.Config.Hooks.And(quorum.Hooks{RoundStarted: func(context.Context, quorum.RoundStart) {
			if p.Index < len(n) {
				n[p.Index].Add(1)
			}
		}})
		return inner(p)
	}
}

// of gives the rounds of the process of a name.
func (n rounds) of(process string) int {
	for i := range n {
		if process == fmt.Sprintf("c%d", i+1) {
			return int(n[i].Load())
		}
	}
	return 0
}
