package simulation

import (
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// world is one run: the clockwork, and everything that it moves.
type world struct {
	journal
	cfg    Config
	work   Workload
	events int // events that happened

	logs    bool // servers keep logs, because something may read them
	scripts redismodel.Scripts
	reboots int // processes that have crashed and will start again
	spares  int // servers that addresses have led to, see Switch

	servers   []*server
	processes []*process
	resource  *resource
	// The faults that are looked up when something happens.
	links Schedule       // by messages
	lags  Schedule       // by replication
	byNth []*byOperation // by operations

	witness  *process
	holdings []*holding // in the order in which they were acquired
}

func (w *world) running() int {
	n := 0
	for _, p := range w.processes {
		if !p.Gone() {
			n++
		}
	}
	return n
}

// byOperation is a fault that happens at a process's n-th operation.
type byOperation struct {
	fault.Fault
	seen []int // by process, over all its incarnations
}
