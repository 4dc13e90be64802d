package simulation

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// drive plays the run to its end. Each event wakes at most one goroutine. The next event
// waits until all goroutines are blocked again.
func (w *world) drive(ctx context.Context) {
	for broken := false; ; {
		w.Settle()
		if !broken && ctx.Err() != nil {
			w.end()
			broken = true
			continue
		}
		e, ok := w.Next()
		if ok && !broken {
			why := ""
			switch {
			case time.Duration(e.At) > w.cfg.Horizon:
				why = fmt.Sprintf("not ended after %v of virtual time", w.cfg.Horizon)
			case w.events >= w.cfg.MaxEvents:
				why = fmt.Sprintf("not ended after %d events", w.events)
			}
			if why != "" {
				w.breakOff(why)
				broken = true
				continue
			}
		}
		switch {
		case ok && !broken:
			w.Now.Store(e.At)
			w.events++
			e.What.Happen()
			continue
		case w.running() == 0:
			if w.cfg.Witness && w.witness == nil && !broken {
				w.callWitness()
				continue
			}
			return
		case broken:
			return // remaining goroutines are found when the bubble ends
		}
		w.breakOff("nothing is left that could wake them")
		broken = true
	}
}

// breakOff reports that processes are stuck, with all goroutines, and ends them.
func (w *world) breakOff(why string) {
	var stuck []string
	for _, p := range w.processes {
		if !p.Gone() {
			stuck = append(stuck, p.Name)
		}
	}
	w.violation(record.Stuck, "%s: %s\n%s", strings.Join(stuck, ", "), why, stacks())
	w.end()
}

// end ends all processes.
func (w *world) end() {
	for _, p := range w.processes {
		p.crash()
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
