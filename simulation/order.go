package simulation

import "time"

// Order makes the order of a run's events a choice. Without it, the order follows from drawn
// latencies. Package orders goes through all orders of a small world in this way.
//
// From a moment on, messages take no time: of the events that are due, any may be next, and
// time passes only when none is due. So a message may be overtaken by every other event of its
// moment. Faults without an Nth are due at the same moment, or at their At if that is later,
// and they alone don't stop time: "time passes" is an option beside them. Delay, Lose, Cut,
// Reorder and Duplicate without an Nth keep their time.
//
// A run fills in Steps, so each run needs an Order of its own.
type Order struct {
	// From is the moment, after the start of all processes. Before it nothing is chosen.
	From time.Duration
	// Choose returns the index of the event that happens next. The events are in the order
	// in which they were caused. A negative number ends the run. Default: always the first.
	Choose func(options []Option) int
	// Steps are the steps so far, one for each event.
	Steps []OrderStep
}

// Option is an event that can be next.
type Option struct {
	// ID names the event. It has the same name in all runs of a world in which what causes it
	// is the same.
	ID uint64
	// After is the number of the step that caused it, -1 if it was caused before the first.
	After int
	// Fault says that it is a fault, for which time doesn't wait.
	Fault bool
}

// TimePasses is the Option.ID of a step in which only time passes. All that was due has happened
// before, except for faults.
const TimePasses = 1

// OrderStep is one event that was chosen.
type OrderStep struct {
	Options []Option
	// Chosen is the index of the one that happened.
	Chosen int
	// Touched are the parts of the world that it has read or changed, as a set of bits. If
	// two events that follow each other touch no common part, and one doesn't cause the
	// other, their order makes no difference. The state of a process includes its
	// connections; requests on their way belong to no part, because each has one reader.
	// Time is read by everything and passes only in a step that touches everything.
	Touched uint64
	// Expands says that the step may keep other events from happening: those of a process
	// that it stops, or a reply that comes too late because of it. An order in which they
	// come first can't be found by comparing the steps of this run.
	Expands bool
}

// The parts of the world in OrderStep.Touched: processes, servers, the resource, and what the checks
// compare.
const (
	maxOrderProcesses = 32

	touchesChecks     = 1 << 63
	touchesResource   = 1 << 62
	touchesEverything = 1<<64 - 1
)

// expand marks a step that has kept an event from happening.
func (o *Order) expand(step int) {
	if step >= 0 && step < len(o.Steps) {
		o.Steps[step].Expands = true
	}
}

// Follow makes an Order.Choose of a list of choices. Where there is only one option, there is
// nothing to choose, and the list has no number for it. A number that is too large means the
// last option, and the first is chosen after the end of the list.
func Follow(choices []int) func([]Option) int {
	return chooseAmong(func(n int, _ int) int {
		if n < len(choices) {
			return choices[n]
		}
		return 0
	})
}

// DrawOrder makes an Order.Choose that draws from a seed.
func DrawOrder(seed uint64) func([]Option) int {
	return chooseAmong(func(n, options int) int { return int(draw(seed, tagOrder, uint64(n)) % uint64(options)) })
}

// chooseAmong numbers the choices among several options.
func chooseAmong(choose func(n, options int) int) func([]Option) int {
	n := 0
	return func(options []Option) int {
		if len(options) == 1 {
			return 0
		}
		n++
		return choose(n-1, len(options))
	}
}

// Choices are the choices of a run, for Follow.
func (o *Order) Choices() []int {
	var choices []int
	for _, s := range o.Steps {
		if len(s.Options) > 1 {
			choices = append(choices, s.Chosen)
		}
	}
	return choices
}
