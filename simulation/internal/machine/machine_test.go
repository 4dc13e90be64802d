package machine

import (
	"errors"
	"fmt"
	"slices"
)

// Machine is the state of one lock.
type Machine struct {
	Quorum  int
	Ahead   int64 // how far a counter may be ahead of its server's clock: half of MaxTTL
	Now     int64 // true time
	Servers []Server
	Rounds  []Round // the number of a round is its index plus one

	rules []rule
	// waits says that the rules of time are in force, and that clocks show the time that passed.
	// Then the claim holds even if servers come back with older data.
	waits bool
}

// Server is one server.
type Server struct {
	Counter int64 // 0: there is none
	Holder  int   // the round whose value the key has, 0 if the key is free
	Run     int   // the number of its run, which ends when it loses data
	Repl    int   // the number of its replication ID
	Mark    int   // the number of its mark, 0 if there is none
	Marks   []Mark
	Started Moment // when the counter was made in this run, and from where; zero if it wasn't
	Grants  int    // how many grants it has given
	Age     int    // how often the counter has fallen by a restart
	Lost    int    // how often the counter was lost within a run
}

// Mark is what a client writes on a server that it finds in another run. The number of a mark is its
// index in Server.Marks plus one.
type Mark struct {
	Repl  int    // the replication ID in it
	Epoch Moment // when it was written; the clock is the epoch
}

// Moment is a true time, and what a server's clock showed then.
type Moment struct{ Time, Clock int64 }

// Vote is a server's grant to a round. The counter was at least Has while the key had the round's
// value.
type Vote struct {
	Server         int
	Token, Has     int64
	Run, Age, Lost int    // of the server when the counter had Has
	At             int    // the number of the grant
	Had            Moment // when the counter had Has
	Given          given
	Settled        bool // the round was won with this vote
	Gone           bool // the key is gone
}

// given is what a server was when it gave a vote.
type given struct {
	Run, Age, Lost int
	Made           bool // the counter didn't exist
	Counter        int64
	Mark           int // the mark that the request named
	Moment         Moment
	Started        Moment
}

// Round is one attempt to get the lock, with one value.
type Round struct {
	Votes []Vote
	Won   bool
	Token int64
	Valid bool // its holder believes in the lease
}

// Kind is a kind of transition.
type Kind string

// The transitions.
const (
	Grant   Kind = "grant"   // a server sets the key and counts, and the client counts the vote
	Try     Kind = "try"     // a server counts, and may set the key, but no vote counts: the key is held, say, or the run is another one
	Raise   Kind = "raise"   // a server raises its counter for a round
	Restore Kind = "restore" // a server sets the key of a lease again, and raises its counter
	Delete  Kind = "delete"  // a key goes: it is released, expires or is evicted
	Expire  Kind = "expire"  // a counter expires
	Lose    Kind = "lose"    // a server loses its counter within a run
	Restart Kind = "restart" // a server begins another run, with the same data, older data or none
	Probe   Kind = "probe"   // a client writes a mark
	Win     Kind = "win"     // a client counts its votes
	End     Kind = "end"     // a holder no longer believes in its lease
	Tick    Kind = "tick"    // time passes: By says how much
)

// Step is one transition. Its Kind decides which fields matter.
type Step struct {
	Kind          Kind
	Server, Round int
	Counter       int64 // what the counter comes to
	Token         int64 // the vote's or the round's
	Other         int   // the round whose value a server has after a restart
	Named         int   // the mark that a request names, 0 if none
	Mark, Repl    int   // what a grant's client reads of the run, or what a server has after a restart
	Clock         int64 // what the server's clock shows
	Votes         []int // the votes with which a round is won, by index
	By            int64
}

// rule is a condition of a transition. The claim needs every rule, because a machine that allows more
// proves more. So a key may go at any moment, unless the rules of time are in force.
type rule struct {
	kind  Kind
	says  string
	holds func(m *Machine, s *Server, r *Round, st *Step) bool
}

func rules() []rule {
	return []rule{
		{Grant, "the key is free", func(_ *Machine, s *Server, _ *Round, _ *Step) bool { return s.Holder == 0 }},
		{Grant, "the counter rises", rises},
		{Grant, "the token is no less than the counter", func(_ *Machine, _ *Server, _ *Round, st *Step) bool {
			return st.Token >= st.Counter
		}},
		{Grant, "no counter is too far ahead of its server's clock", notAhead},
		{Grant, made, func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return s.Counter > 0 || st.Token > st.Clock
		}},
		{Grant, low, func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Named == 0 || st.Counter > s.Marks[st.Named-1].Epoch.Clock+2*m.Ahead || st.Token > st.Clock
		}},
		{Grant, "the client reads the mark that it knows", func(_ *Machine, _ *Server, _ *Round, st *Step) bool {
			return st.Named == 0 || st.Mark == st.Named
		}},
		{Grant, "the client reads the replication ID that it knows", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Named == 0 || st.Repl == s.Marks[st.Named-1].Repl
		}},
		{Grant, "the mark is read in the step that sets the key", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Named == 0 || st.Mark == s.Mark
		}},
		{Grant, "the replication ID is read in the step that sets the key", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Named == 0 || st.Repl == s.Repl
		}},
		{Try, "the counter only rises", rises},
		{Try, "a key that is held keeps its value", func(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Round == 0 || s.Holder == 0 }},
		{Raise, "no counter is too far ahead of its server's clock", notAhead},
		{Raise, "the key still has the round's value", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return s.Holder == st.Round
		}},
		{Restore, "the round was won", func(_ *Machine, _ *Server, r *Round, _ *Step) bool { return r.Won }},
		{Expire, "the server's clock has passed the counter", func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Clock >= s.Counter+2*m.Ahead
		}},
		{Restart, "data that goes back takes the mark or the replication ID with it", func(_ *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Mark == 0 || st.Repl != s.Repl
		}},
		{Win, "a quorum counts", func(m *Machine, _ *Server, _ *Round, st *Step) bool { return len(st.Votes) >= m.Quorum }},
		{Win, "the token is at least that of each vote that counts", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.Token <= st.Token })
		}},
		{Win, "each counter that counts had the token while the key had the round's value", func(_ *Machine, _ *Server, r *Round, st *Step) bool {
			return r.all(st, func(v *Vote) bool { return v.Has >= st.Token })
		}},
	}
}

// The rules of low counters. One that is new starts from what a client believes of the clock. One at or below
// the floor, the epoch and MaxTTL, may be an older copy.
const (
	made = "with a counter that the request made, the token is above the server's clock"
	low  = "with a counter at or below the epoch and MaxTTL, the token is above the server's clock"
)

// waiting are the rules of time: servers in a new run wait, leases end before their keys, and clients
// know the time on a server.
func waiting() []rule {
	return []rule{
		{Grant, "a server in a new run is not asked for MaxTTL", func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return m.Now-s.Marks[st.Named-1].Epoch.Time >= 2*m.Ahead
		}},
		{Grant, "a server in a new run is not asked while a lease that it may have forgotten is valid", func(m *Machine, s *Server, _ *Round, st *Step) bool {
			return st.Named == 1 || !m.any(func(r *Round, v *Vote) bool {
				return r.Valid && v.Server == st.Server && v.Run != s.Run && v.Settled
			})
		}},
		{Grant, starts, notBehind},
		{Try, starts, notBehind},
		{Delete, "a key goes only when its lease is over", func(m *Machine, s *Server, _ *Round, _ *Step) bool { return !m.Rounds[s.Holder-1].Valid }},
	}
}

const starts = "a counter starts at nothing, or no further behind the server's clock than it would live"

func notBehind(m *Machine, s *Server, _ *Round, st *Step) bool {
	return s.Counter > 0 || st.Counter == 1 || st.Counter >= st.Clock-2*m.Ahead
}

func rises(_ *Machine, s *Server, _ *Round, st *Step) bool { return st.Counter > s.Counter }

func notAhead(m *Machine, _ *Server, _ *Round, st *Step) bool {
	return st.Counter <= st.Clock+m.Ahead
}

func (r *Round) all(st *Step, holds func(*Vote) bool) bool {
	return !slices.ContainsFunc(st.Votes, func(i int) bool { return !holds(&r.Votes[i]) })
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

// allows reports whether a transition keeps the rules.
func (m *Machine) allows(st *Step) bool {
	s, r := m.of(st)
	for i := range m.rules {
		if m.rules[i].kind == st.Kind && !m.rules[i].holds(m, s, r, st) {
			return false
		}
	}
	return true
}

// carryOut changes the state as a transition does.
func (m *Machine) carryOut(st *Step) {
	s, r := m.of(st)
	now := Moment{m.Now, st.Clock}
	switch st.Kind {
	case Grant:
		m.forget(st.Server)
		m.gone(st.Server)
		isNew := s.Counter == 0
		s.count(st.Counter, m.Now)
		s.Holder = st.Round
		s.Grants++
		r.Votes = append(r.Votes, Vote{
			Server: st.Server, Token: st.Token, Has: st.Counter,
			Run: s.Run, Age: s.Age, Lost: s.Lost, At: s.Grants, Had: now,
			Given: given{Run: s.Run, Age: s.Age, Lost: s.Lost, Made: isNew, Counter: st.Counter, Mark: st.Named, Moment: now, Started: s.Started},
		})
	case Try:
		s.count(st.Counter, m.Now)
		if st.Round != 0 {
			s.Holder = st.Round
		}
	case Raise:
		s.Counter = max(s.Counter, st.Counter)
		// If the server is in another run than at the grant, a raised counter proves nothing.
		for i := range r.Votes {
			if v := &r.Votes[i]; v.Server == st.Server && v.Run == s.Run && v.Has < st.Counter {
				v.Has, v.Age, v.Lost, v.Had = st.Counter, s.Age, s.Lost, now
			}
		}
	case Restore:
		s.Counter, s.Holder = max(s.Counter, st.Counter), st.Round
	case Delete:
		m.gone(st.Server)
		s.Holder = 0
	case Expire:
		s.Counter = 0
	case Lose:
		s.Counter = st.Counter
		s.Lost++
	case Restart:
		if st.Counter < s.Counter {
			s.Age++
		}
		s.Run++
		s.Counter, s.Holder, s.Mark, s.Repl, s.Started = st.Counter, st.Other, st.Mark, st.Repl, Moment{}
	case Probe:
		s.Marks = append(slices.Clip(s.Marks), Mark{Repl: s.Repl, Epoch: now})
		s.Mark = len(s.Marks)
	case Win:
		r.Won, r.Token, r.Valid = true, st.Token, r.all(st, func(v *Vote) bool { return !v.Gone })
		for _, i := range st.Votes {
			r.Votes[i].Settled = true
		}
	case End:
		r.Valid = false
	case Tick:
		m.Now += st.By
	}
}

// count sets the counter, and records where it started.
func (s *Server) count(to, now int64) {
	if s.Counter == 0 {
		s.Started = Moment{now, to - 1}
	}
	s.Counter = to
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

// Check compares the token of a won round with those of all other won rounds.
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
// counter never fell between the moment at which it had A's token and B's grant, B's token is larger. It is
// also larger if the counter fell, but the clocks agree with the time that passed.
func (m *Machine) compare(numberA, numberB int) error {
	met := false
	for _, a := range m.Rounds[numberA-1].Votes {
		for _, b := range m.Rounds[numberB-1].Votes {
			if !a.Settled || !b.Settled || a.Server != b.Server {
				continue
			}
			met = true
			earlier := a.At < b.At && a.Lost == b.Given.Lost
			if !(earlier && (a.Age == b.Given.Age || m.waits)) && !m.agree(&a, &b) {
				continue
			}
			if tokenA, tokenB := m.Rounds[numberA-1].Token, m.Rounds[numberB-1].Token; tokenA >= tokenB {
				return fmt.Errorf("%w: round %d has the token %d, and the later round %d the token %d", ErrBroken, numberA, tokenA, numberB, tokenB)
			}
		}
	}
	if !met {
		return fmt.Errorf("%w: the quorums of the rounds %d and %d share no server", ErrBroken, numberA, numberB)
	}
	return nil
}

// agree reports whether B's token has to be larger although the counter fell, because clocks showed the time
// that passed to within half of MaxTTL. One of three moments is enough: B's grant, if the counter was new or
// low; the moment at which the counter was made in B's run; and the epoch of B's run, if the counter was above
// the floor.
func (m *Machine) agree(a, b *Vote) bool {
	shows := func(at Moment, least int64) bool {
		passed := at.Time - a.Had.Time
		return passed >= least && at.Clock-a.Had.Clock >= passed-m.Ahead
	}
	g := &b.Given
	isLow, epoch := g.Made, Moment{}
	if g.Mark != 0 {
		epoch = m.Servers[b.Server].Marks[g.Mark-1].Epoch
		isLow = isLow || g.Counter <= epoch.Clock+2*m.Ahead
	}
	return isLow && shows(g.Moment, 2*m.Ahead) ||
		g.Started != Moment{} && shows(g.Started, 2*m.Ahead) ||
		!isLow && g.Mark != 0 && a.Run < g.Run && shows(epoch, 0)
}
