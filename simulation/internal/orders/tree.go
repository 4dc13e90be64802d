package orders

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/kernel"
)

// Tree is a walk through all orders of one world, depth first. It is the state of the walk
// between two runs.
type Tree struct {
	// Nodes are the events of the last run, each with the events still to be tried in its place.
	Nodes []node
	// Runs counts the complete runs. Cut counts the runs that were cut off, because every order in
	// which they could continue was played before.
	Runs uint64
	Cut  uint64
	// Over says that all orders were played.
	Over bool

	// Full tries every event at every step. So it also plays orders that differ only by exchanges of
	// independent events. It is for tests of the reduction.
	Full bool
	// Planted mistakes, which tests must notice: another rule for independence, and no expansion.
	independent func(a, b uint64) bool
	narrow      bool
}

// node is one step of the last run.
type node struct {
	event
	Todo   []uint64 // events to try in its place
	Done   []event  // events that were tried in its place
	Asleep []event  // events that need not be tried here, see package orders
}

// event is an event that was played, with the parts of the world that it touched.
type event struct {
	ID      uint64
	Touched uint64
}

// errChanged says that a run differs from an earlier one: the code or the world has changed.
var errChanged = errors.New("orders: a run differs from an earlier one with the same beginning")

// apart reports whether two events that follow each other can be exchanged, because they touch no
// common part of the world. Tree.plan checks whether one of them causes the other.
func (t *Tree) apart(a, b uint64) bool {
	if t.independent != nil {
		return t.independent(a, b)
	}
	// Two events are exchanged only if they touch no common part of the world.
	return a&b == 0
}

// next plays the next run. play must play it in the order that the Order chooses. complete is false if
// the run was cut off, because nothing new can follow.
func (t *Tree) next(play func(*kernel.Order) error, order *kernel.Order) (complete bool, err error) {
	changed, cut := false, false
	known := len(t.Nodes)
	depth := 0
	order.Choose = func(options []kernel.Option) int {
		d := depth
		depth++
		if d < known {
			at := slices.IndexFunc(options, func(o kernel.Option) bool { return o.ID == t.Nodes[d].ID })
			changed = changed || at < 0
			return at
		}
		asleep := t.asleep(d, order.Steps)
		at := slices.IndexFunc(options, func(o kernel.Option) bool { return !has(asleep, o.ID) })
		if at < 0 {
			cut = true
			return -1
		}
		t.Nodes = append(t.Nodes, node{event: event{ID: options[at].ID}, Asleep: asleep})
		return at
	}
	if err := play(order); err != nil {
		return false, err
	}
	if changed || depth < known {
		return false, fmt.Errorf("%w (at its step %d of %d)", errChanged, depth, known)
	}
	steps := order.Steps
	// The last known event is new, because it has replaced another event.
	fresh := max(0, known-1)
	for i := fresh; i < len(t.Nodes); i++ {
		t.Nodes[i].Touched = steps[i].Touched
	}
	t.plan(steps[:len(t.Nodes)], fresh)
	if cut {
		t.Cut++
	} else {
		t.Runs++
	}
	t.advance()
	return !cut, nil
}

// asleep returns the events that need not be tried at depth d: those that were tried before, further
// up, if no step since then touches what they touch.
func (t *Tree) asleep(d int, steps []kernel.OrderStep) []event {
	if d == 0 || t.Full {
		return nil
	}
	before, now := &t.Nodes[d-1], steps[d-1].Touched
	var asleep []event
	for _, e := range slices.Concat(before.Asleep, before.Done) {
		if t.apart(e.Touched, now) {
			asleep = append(asleep, e)
		}
	}
	return asleep
}

func has(events []event, id uint64) bool {
	return slices.ContainsFunc(events, func(e event) bool { return e.ID == id })
}

// plan adds what has to be tried because of the run. Its steps from fresh on are new.
func (t *Tree) plan(steps []kernel.OrderStep, fresh int) {
	if t.Full {
		for i := fresh; i < len(steps); i++ {
			t.expand(i, steps[i].Options)
		}
		return
	}
	before := make([]set, len(steps)) // by step: the steps that have to come before it
	for j := range steps {
		before[j] = newSet(len(steps))
		cause := chosen(&steps[j]).After
		for i := j - 1; i >= 0; i-- {
			switch {
			case before[j].has(i):
				continue
			case i == cause || passes(&steps[i]) || passes(&steps[j]) && !chosen(&steps[i]).Fault:
			case t.apart(steps[i].Touched, steps[j].Touched):
				continue
			case j >= fresh: // the others were reversed before
				t.reverse(steps, before, i, j)
			}
			before[j].addAll(before[i])
			before[j].add(i)
		}
	}
	for i := range steps {
		// If an event has kept others from happening, all other options are tried in its place.
		if steps[i].Expands && !t.narrow {
			t.expand(i, steps[i].Options)
		}
	}
}

func chosen(s *kernel.OrderStep) kernel.Option { return s.Options[s.Chosen] }

// passes reports whether time passes in the step. All that was due has happened before it, except for
// faults. What comes after it could not come earlier, again except for faults: because of them the
// step expands.
func passes(s *kernel.OrderStep) bool { return chosen(s).ID == kernel.TimePasses }

// reverse makes sure that step j comes before step i in some run. The steps between them that j needs
// and that don't need i come along. Such a run can begin at step i with one of several events, and it
// is enough that one of them is tried there.
func (t *Tree) reverse(steps []kernel.OrderStep, before []set, i, j int) {
	n := &t.Nodes[i]
	var first uint64
	others := newSet(len(steps))
	for k := i + 1; k <= j; k++ {
		if k != j && before[k].has(i) {
			continue
		}
		if !before[k].meets(others) {
			id := chosen(&steps[k]).ID
			if slices.Contains(n.Todo, id) || has(n.Done, id) || has(n.Asleep, id) {
				return
			}
			if first == 0 {
				first = id
			}
		}
		others.add(k)
	}
	if !slices.ContainsFunc(steps[i].Options, func(o kernel.Option) bool { return o.ID == first }) {
		t.expand(i, steps[i].Options) // it is no option there
		return
	}
	n.Todo = append(n.Todo, first)
}

// expand plans to try all options in place of step i.
func (t *Tree) expand(i int, options []kernel.Option) {
	n := &t.Nodes[i]
	for _, o := range options {
		if o.ID != n.ID && !slices.Contains(n.Todo, o.ID) && !has(n.Done, o.ID) && !has(n.Asleep, o.ID) {
			n.Todo = append(n.Todo, o.ID)
		}
	}
}

// advance goes to the next event to try, or ends the walk.
func (t *Tree) advance() {
	for len(t.Nodes) > 0 {
		n := &t.Nodes[len(t.Nodes)-1]
		if len(n.Todo) > 0 {
			n.Done = append(n.Done, n.event)
			n.event = event{ID: n.Todo[0]}
			n.Todo = n.Todo[1:]
			return
		}
		t.Nodes = t.Nodes[:len(t.Nodes)-1]
	}
	t.Over = true
}

// set is a set of step numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) addAll(o set) {
	for i := range o {
		s[i] |= o[i]
	}
}

func (s set) meets(o set) bool {
	for i := range o {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}
