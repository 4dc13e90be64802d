package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Machine is the state of one lock.
type Machine struct {
	Quorum  int
	Ahead   int64 // how far a counter may be ahead of its server's clock
	Now     int64 // true time
	Servers []Server
	Rounds  []Round // the number of a round is its index plus one

	rules []rule
	// waits says that the rules of time are in force, and that clocks show the time that passed.
	// Then the claim holds even if counters fall.
	waits bool
	wrong func(m *Machine, st *Step) // a wrong effect, which a test plants
}

// Server is one server.
type Server struct {
	Instance int   // whose votes it gives; in a split brain, two servers are one instance
	Counter  int64 // 0: there is none
	Holder   int   // the round whose value the key has, 0 if the key is free
	Run      int   // the number of its run
	Counted  int   // the run of the last first grant (see first), as its request named it
	Since    int64 // when the run began
	Grants   int   // how many grants it has given
	Age      int   // how often the counter has fallen
	Fresh    Moment
}

// Moment is a true time, and what a server's clock showed then. Server.Fresh is the moment of the last
// first grant in a run, which lifted the counter to the clock; zero once the counter has fallen again.
type Moment struct{ Time, Clock int64 }

// Vote is a server's grant to a round. The counter was at least Has while the key had the round's
// value.
type Vote struct {
	Server, Instance int
	First, Last, Has int64
	Run, Age, At     int    // the server's run, the counter's age when it had Has, and the number of the grant
	Fresh, Had       Moment // the server's Fresh when it granted, and the moment at which the counter had Has
	Settled          bool   // the round was won with this vote
	Gone             bool   // the key is gone
}

// Round is one attempt to get the lock, with one value.
type Round struct {
	Votes       []Vote
	Won         bool
	First, Last int64
	Valid       bool // its holder believes in the lease
}

// Kind is a kind of transition.
type Kind string

// The transitions.
const (
	Grant   Kind = "grant"   // a server sets the key and counts
	Raise   Kind = "raise"   // a server raises its counter for a round
	Restore Kind = "restore" // a server sets the key of a lease again, and raises its counter
	Delete  Kind = "delete"  // a key goes: it is released, expires or is evicted
	Stray   Kind = "stray"   // a counter rises, and the key may be set, but no round has a vote of it: a script stopped halfway, for example
	Restart Kind = "restart" // a server begins another run, with the same data, older data or none
	Lose    Kind = "lose"    // a server loses its counter within a run
	Win     Kind = "win"     // a client counts its votes
	End     Kind = "end"     // a holder no longer believes in its lease
	Tick    Kind = "tick"    // time passes: Last says how much
)

// Step is one transition. Its Kind decides which fields matter.
type Step struct {
	Kind          Kind
	Server, Round int
	First, Last   int64
	Other         int   // the round that a grant may replace, or whose value a server has after a restart
	Named         int   // the run that a grant names, 0 if none
	Clock         int64 // what the server's clock shows
	Votes         []int // the votes with which a round is won, by index
}

// ErrNoStep is wrapped by the error for a transition that the machine doesn't allow.
var ErrNoStep = errors.New("machine: no step of the machine")

// rule is a condition of a transition. The claim needs every rule, because a machine that allows more
// proves more. So a key may go at any moment, unless the rules of time are in force.
type rule struct {
	kind  Kind
	says  string
	holds func(m *Machine, s *Server, r *Round, st *Step) bool
}

func rules() []rule {
	return []rule{
		{Grant, "the key is free, or has the value that the request replaces", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return s.Holder == 0 || s.Holder == st.Other
		}},
		{Grant, "the first token is above the counter", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.First > s.Counter && st.First <= st.Last
		}},
		{Grant, "the first grant in a run is above the server's clock", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return !s.first(st) || st.First > st.Clock
		}},
		{Grant, "no counter is too far ahead of its server's clock", notAhead},
		{Raise, "no counter is too far ahead of its server's clock", notAhead},
		{Raise, "the key still has the round's value", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return s.Holder == st.Round
		}},
		{Restore, "the round was won", func(_ *Machine, _ *Server, r *Round, _ *Step) bool { return r.Won }},
		{Stray, "the counter only rises", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Last >= s.Counter }},
		{Win, "a quorum counts", func(m *Machine, _ *Server, r *Round, st *Step) bool { return r.instances(st.Votes) >= m.Quorum }},
		{Win, "the first token is at least that of each vote that counts", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.First <= st.First }) && st.First <= st.Last
		}},
		{Win, "each counter that counts had the token while the key had the round's value", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.Has >= st.Last })
		}},
	}
}

// waiting are the rules of time: servers in a new run wait, and leases end before their keys.
func waiting() []rule {
	return []rule{
		{Grant, "a server in a new run is not asked for MaxTTL", func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return !s.first(st) || s.Run == 1 || m.Now-s.Since >= 2*m.Ahead
		}},
		{Grant, "a server in a new run is not asked while a lease that it may have forgotten is valid", func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return !s.first(st) || !m.any(func(r *Round, v *Vote) bool {
				return r.Valid && v.Server == st.Server && v.Run != s.Run && v.Settled
			})
		}},
		{Delete, "a key goes only when its lease is over", func(m *Machine, s *Server, _ *Round, _ *Step) bool { return !m.Rounds[s.Holder-1].Valid }},
	}
}

func notAhead(m *Machine, _ *Server, _ *Round, st *Step) bool { return st.Last <= st.Clock+m.Ahead }

// first reports whether a grant would be the first one of its run, or the first one since the counter
// was lost.
func (s *Server) first(st *Step) bool {
	return st.Named != 0 && (st.Named != s.Counted || s.Counter == 0)
}

func (r *Round) all(st *Step, holds func(*Vote) bool) bool {
	return !slices.ContainsFunc(st.Votes, func(i int) bool { return !holds(&r.Votes[i]) })
}

func (r *Round) instances(votes []int) int {
	seen := uint64(0)
	n := 0
	for _, i := range votes {
		if bit := uint64(1) << r.Votes[i].Instance; seen&bit == 0 {
			seen |= bit
			n++
		}
	}
	return n
}

func (m *Machine) any(holds func(*Round, *Vote) bool) bool {
	for i := range m.Rounds {
		for j := range m.Rounds[i].Votes {
			if holds(&m.Rounds[i], &m.Rounds[i].Votes[j]) {
				return true
			}
		}
	}
	return false
}

// Do carries out a transition. The error Is ErrNoStep, and says which rule the transition breaks.
func (m *Machine) Do(st *Step) error {
	if broken := m.broken(st); broken != nil {
		return fmt.Errorf("%w: %s: %s", ErrNoStep, st.Kind, broken.says)
	}
	m.carryOut(st)
	return nil
}

// of returns the server and the round of a transition, nil if it has none.
func (m *Machine) of(st *Step) (s *Server, r *Round) {
	if st.Kind != Win && st.Kind != End && st.Kind != Tick {
		s = &m.Servers[st.Server]
	}
	if st.Round != 0 {
		r = &m.Rounds[st.Round-1]
	}
	return s, r
}

// broken returns a rule that a transition breaks, nil if there is none.
func (m *Machine) broken(st *Step) *rule {
	s, r := m.of(st)
	for i := range m.rules {
		if m.rules[i].kind == st.Kind && !m.rules[i].holds(m, s, r, st) {
			return &m.rules[i]
		}
	}
	return nil
}

// carryOut changes the state as a transition does.
func (m *Machine) carryOut(st *Step) {
	s, r := m.of(st)
	now := Moment{m.Now, st.Clock}
	switch st.Kind {
	case Grant:
		if s.first(st) {
			s.Counted, s.Fresh = st.Named, now
			m.forget(st.Server)
		}
		m.gone(st.Server)
		s.Counter, s.Holder = st.Last, st.Round
		s.Grants++
		r.Votes = append(r.Votes, Vote{
			Server: st.Server, Instance: s.Instance, First: st.First, Last: st.Last, Has: st.Last,
			Run: s.Run, Age: s.Age, At: s.Grants, Fresh: s.Fresh, Had: now,
		})
	case Raise:
		s.Counter = max(s.Counter, st.Last)
		// If the server is in another run than at the grant, a raised counter proves nothing.
		for i := range r.Votes {
			if v := &r.Votes[i]; v.Server == st.Server && v.Run == s.Run && v.Has < st.Last {
				v.Has, v.Age, v.Had = st.Last, s.Age, now
			}
		}
	case Restore:
		s.Counter, s.Holder = max(s.Counter, st.Last), st.Round
	case Delete:
		m.gone(st.Server)
		s.Holder = 0
	case Stray:
		s.Counter = st.Last
		if st.Round != 0 {
			s.Holder = st.Round
		}
	case Restart, Lose:
		if st.Last < s.Counter {
			s.Age++
			s.Fresh = Moment{}
		}
		s.Counter = st.Last
		if st.Kind == Restart {
			s.Run++
			s.Holder, s.Since = st.Other, m.Now
		}
	case Win:
		r.Won, r.First, r.Last, r.Valid = true, st.First, st.Last, r.all(st, func(v *Vote) bool { return !v.Gone })
		for _, i := range st.Votes {
			r.Votes[i].Settled = true
		}
	case End:
		r.Valid = false
	case Tick:
		m.Now += st.Last
	}
	if m.wrong != nil {
		m.wrong(m, st)
	}
}

// gone records that the key on a server goes.
func (m *Machine) gone(server int) {
	s := &m.Servers[server]
	if s.Holder == 0 {
		return
	}
	votes := m.Rounds[s.Holder-1].Votes
	for i := range votes {
		if votes[i].Server == server && votes[i].Run == s.Run {
			votes[i].Gone = true
		}
	}
}

// forget records that a server no longer has the keys that it granted in earlier runs.
func (m *Machine) forget(server int) {
	m.any(func(_ *Round, v *Vote) bool {
		if v.Server == server && v.Run != m.Servers[server].Run {
			v.Gone = true
		}
		return false
	})
}

// ErrBroken is wrapped by the error for a state that contradicts the claim.
var ErrBroken = errors.New("machine: the claim doesn't hold")

// Check compares the tokens of a won round with those of all other won rounds.
func (m *Machine) Check(number int) error {
	for i := range m.Rounds {
		a, b := &m.Rounds[i], &m.Rounds[number-1]
		if a == b || !a.Won {
			continue
		}
		if err := m.compare(i+1, number); err != nil {
			return err
		}
		if err := m.compare(number, i+1); err != nil {
			return err
		}
	}
	return nil
}

// compare checks the claim for two rounds, A and B, on the servers that granted A earlier. If the
// counter never fell between the moment at which it had A's last token and B's grant, B's tokens are
// larger. They are also larger if it fell, but the clocks agree with the time that passed.
func (m *Machine) compare(numberA, numberB int) error {
	met := false
	for _, a := range m.Rounds[numberA-1].Votes {
		for _, b := range m.Rounds[numberB-1].Votes {
			if !a.Settled || !b.Settled || a.Instance != b.Instance {
				continue
			}
			met = true
			earlier := a.Server == b.Server && a.At < b.At
			if !(earlier && (a.Age == b.Age || m.waits)) && !m.agree(a, b) {
				continue
			}
			if last, first := m.Rounds[numberA-1].Last, m.Rounds[numberB-1].First; last >= first {
				return fmt.Errorf("%w: round %d has the tokens up to %d, and the later round %d those from %d", ErrBroken, numberA, last, numberB, first)
			}
		}
	}
	if !met {
		return fmt.Errorf("%w: the quorums of the rounds %d and %d share no instance", ErrBroken, numberA, numberB)
	}
	return nil
}

// agree reports whether B's grant is, or comes after, a first grant in a run at least MaxTTL after the
// counter had A's token, and whether the clocks showed that time to within half of MaxTTL.
func (m *Machine) agree(a, b Vote) bool {
	passed := b.Fresh.Time - a.Had.Time
	return !m.waits && b.Fresh != Moment{} && passed >= 2*m.Ahead && b.Fresh.Clock-a.Had.Clock >= passed-m.Ahead
}
