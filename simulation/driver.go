package simulation

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing/synctest"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// drive plays the run to its end. Each event wakes at most one goroutine. The next event
// waits until all goroutines are blocked again.
func (w *world) drive(ctx context.Context) {
	for broken := false; ; {
		w.settle()
		if !broken && (ctx.Err() != nil || w.readings.decided() != nil) {
			w.end() // it is interrupted, or it is played again and differs from here on
			broken = true
			continue
		}
		e, ok, ended := w.next()
		if ended {
			if broken {
				return
			}
			w.end()
			broken = true
			continue
		}
		if ok && !broken {
			why := ""
			switch {
			case time.Duration(e.at) > w.cfg.Horizon:
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
			w.now.Store(e.at)
			w.events++
			e.what.happen(w)
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
		if !p.gone() {
			stuck = append(stuck, p.name)
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

// settle waits until all goroutines of the code under test are blocked and executes their
// requests, until there are no more.
func (w *world) settle() {
	for {
		if w.awake {
			w.awake = false
			w.steps.Add(1)
			w.resting.Store(true)
			synctest.Wait()
			w.resting.Store(false)
			if w.readings != nil {
				w.readings.counted()
			}
			w.round.Add(1)
		}
		w.inboxMu.Lock()
		ops := w.inbox
		w.inbox, w.drained = w.drained[:0], ops
		w.inboxMu.Unlock()
		if len(ops) == 0 && !w.awake {
			return
		}
		w.carryOut(w.putOff(ops))
		clear(w.drained)
	}
}

// next removes the next live event from the queue. Events of a paused process are deferred
// until it runs again. ended says that the run is to end, see Order.
func (w *world) next() (e event, ok, ended bool) {
	if w.chooses {
		return w.choose()
	}
	for len(w.queue) > 0 {
		e := w.queue.pop()
		if !e.what.live() {
			if m, ok := e.what.(interface{ missed(w *world, at int64) }); ok {
				m.missed(w, e.at)
			}
			continue
		}
		if p := e.proc; p != nil && p.pausedUntil > e.at {
			e.at = p.pausedUntil
			if p.shuffled {
				e.first = e.at
			}
			w.queue.push(e)
			continue
		}
		if e.message && w.stalledUntil > e.at {
			e.at = w.stalledUntil
			w.queue.push(e)
			continue
		}
		if o := w.cfg.Order; o != nil && e.at >= int64(o.From) {
			w.queue.push(e)
			w.now.Store(int64(o.From))
			w.chooses = true
			return w.choose()
		}
		return e, true, false
	}
	return event{}, false, false
}
