package machine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// World is a world so small that every state can be visited.
type World struct {
	Name            string
	Servers, Rounds int
	Tokens          int64 // the largest token
	Restarts        int
	// Waits puts the rules of time in force: servers in a new run wait, and leases end before their
	// keys. Clocks then show the time, or up to Skew more. MaxTTL, which is twice Ahead, may pass
	// after a restart.
	Waits       bool
	Ahead, Skew int64
	// Offset is how far the last server's clock is always ahead of the others.
	Offset int64
	// Reserved is the most tokens that a grant may reserve, and Skipped the most that it may leave
	// out.
	Reserved, Skipped int64
	// Wasted allows Stray steps, and Restored allows Restore steps.
	Wasted, Restored bool
}

// Worlds returns the small worlds of the tests.
func Worlds() []World {
	return []World{
		{Name: "three rounds", Servers: 3, Rounds: 3, Tokens: 3, Ahead: 9},
		{Name: "a restart with older data", Servers: 3, Rounds: 2, Tokens: 3, Ahead: 9, Restarts: 1},
		{Name: "a restart, and a clock that is ahead", Servers: 3, Rounds: 2, Tokens: 6, Ahead: 1, Offset: 2, Restarts: 1, Waits: true},
		{Name: "reserved and wasted tokens, restored leases", Servers: 3, Rounds: 2, Tokens: 3, Ahead: 9, Reserved: 1, Skipped: 1, Wasted: true, Restored: true},
		{Name: "a restart, clocks and waits", Servers: 3, Rounds: 2, Tokens: 4, Ahead: 1, Skew: 1, Skipped: 1, Restarts: 1, Waits: true},
	}
}

// Found is what an exploration found.
type Found struct {
	States, Steps int
	// Won is the number of states in which all rounds were won.
	Won int
}

// ErrExploration is wrapped by the error for a state that breaks the claim. The text has a shortest
// sequence of steps that leads to it.
var ErrExploration = errors.New("machine: a state breaks the claim")

// Explore visits every state of a world, breadth first, and checks the claim in each: tokens rise, and,
// if the world has Waits, no two leases are valid at once. The error Is ErrExploration.
func (w World) Explore() (Found, error) { return w.explore(w.start()) }

func (w World) start() *Machine {
	m := &Machine{
		Quorum: w.Servers/2 + 1, Ahead: w.Ahead, waits: w.Waits,
		Servers: make([]Server, w.Servers), Rounds: make([]Round, w.Rounds), rules: rules(),
	}
	for i := range m.Servers {
		m.Servers[i] = Server{Instance: i, Run: 1}
	}
	if w.Waits {
		m.rules = append(m.rules, waiting()...)
	}
	return m
}

type node struct {
	m    *Machine
	from int
	by   Step
}

func (w World) explore(start *Machine) (Found, error) {
	k := keyer{columns: make([][]byte, len(start.Servers)), odd: w.Offset != 0}
	seen := map[string]struct{}{string(k.of(start)): {}}
	queue := []node{{m: start}}
	var found Found
	next := start.clone()
	for at := 0; at < len(queue); at++ {
		m := queue[at].m
		if m.won() == w.Rounds {
			queue[at].m = nil // no step can break the claim any more
			continue
		}
		var broken error
		w.steps(m, func(st Step) {
			if broken != nil || m.broken(&st) != nil {
				return
			}
			found.Steps++
			next.become(m)
			next.carryOut(&st)
			key := k.of(next)
			if _, known := seen[string(key)]; known {
				return
			}
			seen[string(key)] = struct{}{}
			st.Votes = slices.Clone(st.Votes)
			queue = append(queue, node{next.clone(), at, st})
			broken = next.claim(&st)
			if st.Kind == Win && next.won() == w.Rounds {
				found.Won++
			}
		})
		if broken != nil {
			return found, fmt.Errorf("%w: %w, after:\n%s", ErrExploration, broken, way(queue, len(queue)-1))
		}
		queue[at].m = nil
	}
	found.States = len(queue)
	return found, nil
}

// claim checks the claim in the state after a step.
func (m *Machine) claim(st *Step) error {
	if st.Kind != Win {
		return nil // no other step can break it
	}
	valid := 0
	for i := range m.Rounds {
		if m.Rounds[i].Valid {
			valid++
		}
	}
	if m.waits && valid > 1 {
		return fmt.Errorf("%w: %d leases are valid", ErrBroken, valid)
	}
	return m.Check(st.Round)
}

func (m *Machine) won() int {
	n := 0
	for i := range m.Rounds {
		if m.Rounds[i].Won {
			n++
		}
	}
	return n
}

func way(queue []node, i int) string {
	var steps []string
	for ; i > 0; i = queue[i].from {
		steps = append(steps, fmt.Sprintf("  %+v", queue[i].by))
	}
	slices.Reverse(steps)
	return strings.Join(steps, "\n")
}

// steps tries transitions. Many of them break a rule, so that a missing rule is noticed.
func (w World) steps(m *Machine, try func(Step)) {
	restarts := 0
	for i := range m.Servers {
		restarts += m.Servers[i].Run - 1
	}
	for server := range m.Servers {
		s := &m.Servers[server]
		w.server(m, server, try)
		if s.Holder != 0 {
			try(Step{Kind: Delete, Server: server})
		}
		if w.Wasted {
			w.strays(m, server, try)
		}
		if restarts >= w.Restarts {
			continue
		}
		for counter := range s.Counter + 1 {
			for holder := range len(m.Rounds) + 1 {
				if holder == 0 || m.Rounds[holder-1].voted(server) { // older data has only values that the server had
					try(Step{Kind: Restart, Server: server, Last: counter, Other: holder})
				}
			}
		}
	}
	for i := range m.Rounds {
		w.win(m, i+1, try)
		if m.Rounds[i].Valid && w.Waits {
			try(Step{Kind: End, Round: i + 1})
		}
	}
	if w.Waits && restarts > 0 && m.Now == 0 {
		try(Step{Kind: Tick, Last: 2 * w.Ahead})
	}
}

// strays tries counters that change although no round has a vote of it.
func (w World) strays(m *Machine, server int, try func(Step)) {
	s := &m.Servers[server]
	for counter := max(0, s.Counter-1); counter <= min(w.Tokens, s.Counter+1); counter++ {
		try(Step{Kind: Stray, Server: server, Last: counter})
		for i := range m.Rounds {
			if r := &m.Rounds[i]; s.Holder == 0 && !r.Won && !r.voted(server) {
				try(Step{Kind: Stray, Server: server, Round: i + 1, Last: counter})
			}
		}
	}
}

// has reports whether a vote of the round has the token. Only then it can be the round's token.
func (r *Round) has(token int64) bool {
	return slices.ContainsFunc(r.Votes, func(v Vote) bool { return v.Last == token })
}

func (r *Round) voted(server int) bool {
	return slices.ContainsFunc(r.Votes, func(v Vote) bool { return v.Server == server })
}

// server tries the grants, raises and restores of one server.
func (w World) server(m *Machine, server int, try func(Step)) {
	s := &m.Servers[server]
	for i := range m.Rounds {
		r := &m.Rounds[i]
		earliest := m.Now
		if server == len(m.Servers)-1 {
			earliest += w.Offset
		}
		for clock := earliest; clock <= earliest+w.Skew; clock++ {
			step := Step{Server: server, Round: i + 1, Clock: clock, Named: s.Run}
			if clock < earliest+w.Skew && !s.first(&step) {
				continue // unless it is a first grant, the latest clock allows the most
			}
			// A round asks each server once. The rounds begin in order, because another order
			// would only exchange their numbers.
			if !r.voted(server) && !r.Won && (i == 0 || len(m.Rounds[i-1].Votes) > 0) {
				least := s.Counter
				if s.first(&step) {
					least = max(least, clock)
				}
				// The first of these tokens is too low, and breaks a rule.
				for step.First = max(1, least); step.First <= min(w.Tokens, least+1+w.Skipped); step.First++ {
					for step.Last = step.First; step.Last <= min(w.Tokens, step.First+w.Reserved); step.Last++ {
						step.Kind = Grant
						try(step)
					}
				}
			}
			if len(r.Votes) == 0 || clock < earliest+w.Skew {
				continue
			}
			for step.Last = s.Counter + 1; step.Last <= w.Tokens; step.Last++ {
				if step.Kind = Raise; !r.Won && r.has(step.Last) {
					try(step)
				}
			}
			for _, v := range r.Votes {
				if step.Kind, step.Last = Restore, v.Last; w.Restored {
					try(step)
				}
			}
		}
	}
}

// win tries the ways to win a round.
func (w World) win(m *Machine, number int, try func(Step)) {
	r := &m.Rounds[number-1]
	if r.Won {
		return
	}
	var buffer [8]int
	for set := 1; set < 1<<len(r.Votes); set++ {
		votes := buffer[:0]
		for i := range r.Votes {
			if set>>i&1 != 0 {
				votes = append(votes, i)
			}
		}
		for last := int64(1); last <= w.Tokens; last++ {
			if !r.has(last) {
				continue
			}
			for first := max(1, last-w.Reserved); first <= last; first++ {
				try(Step{Kind: Win, Round: number, First: first, Last: last, Votes: votes})
			}
		}
	}
}

func (m *Machine) clone() *Machine {
	var c Machine
	c.become(m)
	return &c
}

// become makes the machine a copy of another one, in its own memory.
func (m *Machine) become(o *Machine) {
	servers, rounds := m.Servers[:0], slices.Grow(m.Rounds[:0], len(o.Rounds))[:len(o.Rounds)]
	*m = *o
	m.Servers, m.Rounds = append(servers, o.Servers...), rounds
	for i := range rounds {
		votes := rounds[i].Votes[:0]
		rounds[i] = o.Rounds[i]
		rounds[i].Votes = append(votes, o.Rounds[i].Votes...)
	}
}

// keyer writes a state as a few bytes. It leaves out what no rule and no claim will read again, and
// writes the same for states that differ only by an exchange of servers.
type keyer struct {
	odd     bool // the last server differs from the others, and isn't exchanged
	columns [][]byte
	key     []byte
}

func (k *keyer) of(m *Machine) []byte {
	for server := range m.Servers {
		s := &m.Servers[server]
		b := append(k.columns[server][:0], byte(s.Counter), byte(s.Holder), byte(s.Run-s.Counted), byte(s.Age))
		if m.waits {
			b = append(b, byte(s.Since), byte(s.Run))
		}
		for i := range m.Rounds {
			r := &m.Rounds[i]
			for j := range r.Votes {
				v := &r.Votes[j]
				switch {
				case v.Server != server:
				case r.Won && !v.Settled:
					b = append(b, 1)
				case r.Won && m.waits && r.Valid:
					b = append(b, 2, byte(v.At), byte(v.Age), byte(v.Run))
				case r.Won:
					b = append(b, 3, byte(v.At), byte(v.Age))
				default:
					b = append(b, 4|bit(v.Run == s.Run)<<3|bit(v.Gone && m.waits)<<4, byte(v.At), byte(v.Age), byte(v.First), byte(v.Last), byte(v.Has))
				}
			}
			b = append(b, 0)
		}
		k.columns[server] = b
	}
	alike := k.columns[:len(k.columns)-int(bit(k.odd))]
	slices.SortFunc(alike, bytes.Compare)
	k.key = append(k.key[:0], byte(m.Now))
	for i := range m.Rounds {
		r := &m.Rounds[i]
		k.key = append(k.key, byte(r.First), byte(r.Last), bit(r.Valid && m.waits))
	}
	for _, column := range k.columns {
		k.key = append(k.key, column...)
	}
	return k.key
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
