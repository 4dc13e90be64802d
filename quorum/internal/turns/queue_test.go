package turns

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

// doing is where a goroutine is in its Acquire.
type doing int

const (
	away    doing = iota
	looking       // it checks next
	asking        // its round is in progress
	resting       // until it is notified or a pause ends
	asleep        // until it is notified
)

// bounds limit how often each event may happen.
type bounds struct{ enters, releases, expiries, tries, others, notifications, pauses, subscriptions int }

// model plays three goroutines, 1 to 3, that share a queue. It records independently what the queue
// should say. Leases have numbers from 1.
type model struct {
	q     Queue[int, int]
	order []int // in which they came
	account
}

// account is what can be compared of a model.
type account struct {
	left  bounds
	now   time.Duration
	does  [4]doing
	woken [4]bool

	live   int  // the lease that is valid
	user   int  // the lease that was taken, and is to be released
	untold bool // the last release notified no other process, and this one hasn't had the lock since

	// limit is how many may have the lock in a row, and turn counts those that have released it.
	limit, turn int

	// Subscriptions have numbers from 1, and 0 is none. address is that of the present one,
	// which waiters read; told is the last one that the queue was told of; and queued is the one
	// in the server's queue.
	address, told, queued, opened int
}

func newModel(r *Rules, left bounds) *model {
	return &model{q: New[int, int](r), account: account{left: left, now: time.Second, address: 1, told: 1, opened: 1}}
}

// addressOf is a subscription's address.
func addressOf(subscription int) string {
	if subscription == 0 {
		return ""
	}
	return fmt.Sprint("here-", subscription)
}

func (m *model) clone() *model {
	c := *m
	c.q.waiting, c.order = slices.Clone(m.q.waiting), slices.Clone(m.order)
	return &c
}

// key is equal for equal states: it has all of a queue but its rules, and room for waiters.
type key struct {
	account
	waiting                 [3]int
	holder, instance        int
	freed, notified, untold bool
	turns                   turns
	position                Position
}

func (m *model) key() key {
	q := &m.q
	k := key{m.account, [3]int{}, q.holder, q.instance, q.freed, q.notified, q.untold, q.turns, q.position}
	copy(k.waiting[:], q.waiting)
	return k
}

// event is what can happen, and to which goroutine, if to one of the three.
type event struct {
	what string
	i    int
}

func (e event) String() string {
	if e.i == 0 {
		return e.what
	}
	return fmt.Sprint(e.what, " ", e.i)
}

// acts reports whether the goroutine can do something.
func (m *model) acts(i int) bool {
	return m.does[i] != away && m.does[i] != asking && (m.does[i] != asleep || m.woken[i])
}

// events lists what can happen now. A goroutine enters, gives up, runs until it waits, and wins or
// loses its round. The holder releases, or its lease expires. "try": another
// goroutine takes the lock by TryAcquire. "other": another process is let in. "notified": a server
// notifies this process. "opens" and "breaks": the subscription; "told": the queue learns that,
// some time after. "later": a pause passes.
func (m *model) events() []event {
	var list []event
	may := func(left int, holds bool, what string, i int) {
		if left > 0 && holds {
			list = append(list, event{what, i})
		}
	}
	for i := 1; i <= 3; i++ {
		// They are all alike before they enter.
		may(m.left.enters, slices.Index(m.does[1:], away) == i-1, "enters", i)
		may(1, m.does[i] != away, "gives up", i)
		may(1, m.acts(i), "runs", i)
		may(1, m.does[i] == asking && m.live == 0, "wins", i)
		may(1, m.does[i] == asking, "loses", i)
	}
	may(m.left.releases, m.user != 0, "releases", 0)
	may(m.left.expiries, m.live != 0, "expires", 0)
	may(m.left.tries, m.live == 0, "try", 0)
	may(m.left.others, true, "other", 0)
	may(m.left.notifications, m.queued != 0 && m.queued == m.address, "notified", 0)
	may(m.left.subscriptions, m.address == 0 && m.told == 0, "opens", 0)
	may(m.left.subscriptions, m.address != 0 && m.told == m.address, "breaks", 0)
	may(1, m.told != m.address, "told", 0)
	may(m.left.pauses, true, "later", 0)
	return list
}

// play plays an event, and returns what is wrong then.
func (m *model) play(e event) (wrong string) {
	i := e.i
	switch e.what {
	case "enters":
		m.left.enters--
		m.q.Enter(i)
		m.does[i], m.order = looking, append(m.order, i)
	case "gives up":
		wrong = m.leave(i, false)
	case "runs":
		wrong = m.run(i)
	case "wins":
		wrong = m.take(i, m.win())
	case "loses":
		m.untold = false
		m.q.Competed()
		m.q.Taken(m.now)
		m.q.Subscribe(0)
		if m.address != 0 {
			m.q.SetPosition(Position{Address: addressOf(m.address)}, m.now)
			m.queued = m.address
		}
		m.does[i], m.limit, m.turn = resting, 0, 0
	case "releases":
		m.left.releases--
		lease := m.user
		m.user = 0
		wrong = m.release(lease)
	case "expires":
		m.left.expiries--
		if m.q.Holder() == m.live {
			m.wake(m.q.Freed())
		}
		m.live, m.user = 0, 0
	case "try":
		m.left.tries--
		m.user = m.win()
	case "other":
		m.left.others--
		m.q.LetIn(m.now)
	case "notified":
		m.left.notifications--
		m.queued = 0
		wake, ok := m.q.Notify(0)
		m.wake(wake)
		if len(m.order) > 0 && (!ok || !m.woken[m.order[0]]) {
			return "a notification is lost"
		}
	case "opens":
		m.left.subscriptions--
		m.opened++
		m.address = m.opened
	case "breaks":
		m.left.subscriptions--
		m.address = 0
	case "told":
		m.told = m.address
		m.wake(m.q.Changed(0, addressOf(m.told)))
	case "later":
		m.left.pauses--
		m.now += 2 * contestedFor
	}
	if wrong == "" {
		wrong = m.wrong()
	}
	return wrong
}

func (m *model) wake(i int) {
	if i != 0 {
		m.woken[i] = true
	}
}

// run does what package quorum does for a waiter.
func (m *model) run(i int) (wrong string) {
	v := m.q.Look(i, m.woken[i])
	m.woken[i] = false
	switch {
	case v.First != (m.order[0] == i):
		return "out of order"
	case v.First && v.Holder == 0 && m.q.StepBack(m.now) > 0:
		m.does[i] = resting
	case v.First && v.Holder == 0:
		m.does[i] = asking
	default:
		m.does[i] = asleep
	}
	return ""
}

// lease is the lowest number of no known lease.
func (m *model) lease() int {
	used := []int{m.q.holder, m.live, m.user}
	n := 1
	for slices.Contains(used, n) {
		n++
	}
	return n
}

// win ends a round that is won.
func (m *model) win() (lease int) {
	if m.turn >= m.limit {
		m.limit, m.turn = len(m.order), 0
	}
	m.untold = false
	m.live = m.lease()
	m.q.Acquired(m.live, fencing.Token(1), m.now)
	return m.live
}

func (m *model) take(i, lease int) (wrong string) {
	if m.order[0] != i {
		return "out of order"
	}
	m.user = lease
	return m.leave(i, true)
}

func (m *model) leave(i int, won bool) (wrong string) {
	m.order = slices.DeleteFunc(m.order, func(other int) bool { return other == i })
	m.does[i], m.woken[i] = away, false
	wake, withdraw := m.q.Leave(i, won)
	m.wake(wake)
	if withdraw.Address != "" {
		m.queued = 0
	}
	untold := m.untold && len(m.order) == 0
	m.untold = m.untold && !untold
	if m.q.Untold() != untold {
		return "another process isn't notified when none here goes on, or though one does"
	}
	return ""
}

// release demands that the next waiter goes on whenever it may.
func (m *model) release(lease int) (wrong string) {
	if m.live == lease {
		m.live = 0
	}
	if m.q.Holder() != lease {
		return ""
	}
	m.turn++
	goesOn := m.q.GoOn()
	switch {
	case !goesOn && len(m.order) > 0 && m.turn < m.limit:
		return "a turn is lost"
	case goesOn && m.turn >= m.limit:
		return "too many turns in a row"
	case goesOn && len(m.order) == 0:
		return "nobody goes on"
	case !goesOn:
		m.limit = 0
	}
	m.untold = goesOn
	m.wake(m.q.Freed())
	return ""
}

// wrong checks what must always hold.
func (m *model) wrong() string {
	if !slices.Equal(m.q.waiting, m.order) {
		return "out of order"
	}
	for i := 1; i <= 3; i++ {
		first := len(m.order) > 0 && m.order[0] == i
		switch {
		case m.does[i] == asking && !first:
			return "two compete"
		case first && m.does[i] == asleep && !m.woken[i] && m.q.Holder() == 0:
			return "all of them sleep"
		}
	}
	switch {
	case m.live != 0 && m.q.Holder() != m.live:
		return "the holder isn't known"
	case len(m.order) == 0 && m.q.position.Address != "":
		return "a position without a waiter"
	}
	return ""
}

// drain lets all goroutines have their turns, without any other event.
func (m *model) drain() (wrong string) {
	for range 100 {
		var e event
		for i := 1; i <= 3; i++ {
			switch {
			case m.acts(i):
				e = event{"runs", i}
			case m.does[i] == asking && m.live == 0:
				e = event{"wins", i}
			}
		}
		switch {
		case m.user != 0:
			e = event{"releases", 0}
		case e.what == "" && len(m.order) == 0:
			return ""
		case e.what == "":
			return "a waiter is forgotten"
		}
		if wrong := m.play(e); wrong != "" {
			return wrong
		}
	}
	return "it never ends"
}

// Whatever three goroutines, other processes and servers do, in any order within these bounds: at
// most one goroutine competes, they get the lock in the order in which they came, each turn of this process
// is used, no waiter is forgotten, here or in another process, and each gets its turn.
func TestQueueInEveryOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		left bounds
	}{
		{"releases", bounds{enters: 5, releases: 4}},
		{"expiries", bounds{enters: 3, releases: 2, expiries: 2}},
		{"TryAcquire", bounds{enters: 3, releases: 2, tries: 2}},
		{"other processes", bounds{enters: 3, releases: 2, others: 1, notifications: 1, pauses: 1}},
		{"subscriptions", bounds{enters: 3, releases: 1, notifications: 1, subscriptions: 2}},
		{"all", bounds{enters: 3, releases: 1, expiries: 1, tries: 1, others: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// state is a model, and the last event of the shortest path to it.
			type state struct {
				m    *model
				last event
				from *state
			}
			way := func(s *state) (played []event) {
				for ; s.from != nil; s = s.from {
					played = append(played, s.last)
				}
				slices.Reverse(played)
				return played
			}
			known, seen := map[key]bool{}, map[string]bool{}
			next := []*state{{m: newModel(&Rules{}, c.left)}}
			for len(next) > 0 {
				s := next[0]
				next = next[1:]
				if wrong := s.m.clone().drain(); wrong != "" {
					t.Fatalf("%s, after %v, when nothing else happens", wrong, way(s))
				}
				for _, e := range s.m.events() {
					to := &state{s.m.clone(), e, s}
					if wrong := to.m.play(e); wrong != "" {
						t.Fatalf("%s, after %v", wrong, way(to))
					}
					seen[e.what] = true
					if key := to.m.key(); !known[key] {
						known[key] = true
						next = append(next, to)
					}
				}
			}
			require.Equal(t, 10, reflect.TypeFor[Queue[int, int]]().NumField(), "key must have each field")
			t.Logf("%d states, by %q", len(known), slices.Sorted(maps.Keys(seen)))
		})
	}
}
