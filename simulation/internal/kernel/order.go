package kernel

import "time"

// Order makes the order of a run's events a choice. Without an Order, random latencies decide it.
// Package orders uses it to walk through all orders of a small world.
//
// After From, messages take no time. Any of the events that are due may be next, and time passes
// only when none is due. So every other event of the same moment may come before a message.
//
// A fault without an Nth is due at From, or at its At if that is later. It may happen at any time
// after that, because faults alone don't stop time: beside them, "time passes" is an option. The
// exceptions are faults of messages without an Nth, which happen at their At.
//
// A run fills in Steps, after it has dropped those of an earlier run.
type Order struct {
	// From is the moment at which the choices begin. All processes must have started before it.
	From time.Duration
	// Choose returns the index of the event that happens next. The options are in the order in
	// which they were caused. A negative index ends the run. Default: always the first option.
	Choose func(options []Option) int
	// Steps are the steps so far. In each of them one event happens, or time passes.
	Steps []OrderStep
}

// Option is an event that can be next.
type Option struct {
	// ID names the event. It is the same in all runs of a world in which the event has the same
	// causes.
	ID uint64
	// After is the index of the step that caused the event, -1 if no step did.
	After int
	// Fault says that the event is a fault. Time doesn't wait for faults.
	Fault bool
}

// TimePasses is the Option.ID of a step in which only time passes. All events that were due have
// happened before it, except for faults.
const TimePasses = 1

// OrderStep is one step: its options, which of them happened, and what that did.
type OrderStep struct {
	Options []Option
	// Chosen is the index of the option that happened.
	Chosen int
	// Touched are the parts of the world that the event has read or changed, as a set of bits.
	// If two events that follow each other touch no common part, and neither causes the
	// other, their order makes no difference. Requests in flight belong to no part, because
	// each has one reader. Every event may read the time, so a step in which time passes
	// touches everything.
	Touched uint64
	// Expands says that the step may keep other events from Happening: the events of a
	// process that it stops, or a reply that comes too late because of it. Then the steps of
	// this run don't show the orders in which those events come first.
	Expands bool
}

// The parts of the world in OrderStep.Touched are processes, servers, what each process has on each
// server, its connection to each server, the resource, and what the checks compare.
const (
	MaxOrderProcesses = 10
	MaxOrderServers   = 10

	TouchesChecks     = 1 << 63
	TouchesResource   = 1 << 62
	TouchesEverything = 1<<64 - 1
)

// The parts of the world in OrderStep.Touched, by the numbers of processes and servers.

func OfProcess(process int) uint64 { return 1 << process }

func OfServer(server int) uint64 { return 1 << (MaxOrderProcesses + server) }

// OfPair is one of two parts that belong to a process and one of so many servers. Two pairs may have the
// same bit: then more events depend on each other than need to.
func OfPair(process, server, servers, part int) uint64 {
	const first = MaxOrderProcesses + MaxOrderServers
	const each = (62 - first) / 2
	return 1 << (first + part*each + (process*servers+server)%each)
}

// expand records that a step has kept an event from Happening.
func (o *Order) expand(step int) {
	if step >= 0 && step < len(o.Steps) {
		o.Steps[step].Expands = true
	}
}

// Follow makes an Order.Choose from a list of choices. A step with only one option isn't a choice,
// and the list has no number for it. A number that is too large means the last option. After the
// end of the list, the first option is chosen.
func Follow(choices []int) func([]Option) int {
	return chooseAmong(func(n int, _ int) int {
		if n < len(choices) {
			return choices[n]
		}
		return 0
	})
}

// DrawOrder makes an Order.Choose that chooses at random, from a seed.
func DrawOrder(seed uint64) func([]Option) int {
	return chooseAmong(func(n, options int) int { return int(Draw(seed, tagOrder, uint64(n)) % uint64(options)) })
}

// chooseAmong numbers the steps that have several options.
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

// Choices returns the choices of a run, for Follow.
func (o *Order) Choices() []int {
	var choices []int
	for _, s := range o.Steps {
		if len(s.Options) > 1 {
			choices = append(choices, s.Chosen)
		}
	}
	return choices
}
