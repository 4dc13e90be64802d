package machine

import (
	"bytes"
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
	// Ticks times.
	Waits       bool
	Ahead, Skew int64
	Ticks       int64
	// Begin is what clocks show at first. The floor of the first runs is right below it.
	Begin int64
	// Offset is how far the last server's clock is always ahead of the others.
	Offset int64
	// Higher is how far a vote's token may be above the counter, because another key's counter is
	// higher.
	Higher int64
	// Tries allows Try steps, Restored allows Restore steps, Expiry lets counters expire, and Losses lets
	// each be lost once within a run.
	Tries, Restored, Expiry, Losses bool
}

// Worlds returns the small worlds of the tests.
func Worlds() []World {
	return []World{
		{Name: "counters that expire", Servers: 1, Rounds: 3, Tokens: 9, Ahead: 1, Waits: true, Ticks: 2, Begin: 3, Higher: 2, Expiry: true, Tries: true},
		{Name: "a restart, clocks and waits", Servers: 1, Rounds: 2, Tokens: 9, Ahead: 2, Skew: 2, Higher: 3, Restarts: 1, Waits: true, Ticks: 1},
		{Name: "counters that are lost", Servers: 1, Rounds: 2, Tokens: 7, Ahead: 1, Waits: true, Ticks: 2, Higher: 2, Losses: true, Tries: true},
		{Name: "three rounds", Servers: 3, Rounds: 3, Tokens: 3, Ahead: 9},
		{Name: "a restart with older data", Servers: 3, Rounds: 2, Tokens: 3, Ahead: 9, Restarts: 1},
		{Name: "two restarts, and tries without a vote", Servers: 1, Rounds: 2, Tokens: 6, Ahead: 1, Skew: 1, Higher: 1, Restarts: 2, Waits: true, Ticks: 2, Tries: true},
		{Name: "a restart, and a clock that is ahead", Servers: 3, Rounds: 2, Tokens: 3, Ahead: 1, Offset: 1, Restarts: 1, Waits: true, Ticks: 1},
		{Name: "several keys, tries without a vote, restored leases", Servers: 3, Rounds: 2, Tokens: 3, Ahead: 9, Higher: 1, Tries: true, Restored: true},
	}
}

// Found is what an exploration found.
type Found struct {
	States, Steps int
	// Won is the number of states in which all rounds were won.
	Won int
}

// Explore visits every state of a world, breadth first, and checks the claim in each: tokens rise, and,
// if the world has Waits, no two leases are valid at once. The error Is ErrBroken, and has a shortest sequence of steps that leads to such a state.
func (w World) Explore() (Found, error) { return w.explore(w.start()) }

func (w World) start() *Machine {
	m := &Machine{
		Quorum: w.Servers/2 + 1, Ahead: w.Ahead, waits: w.Waits,
		Servers: make([]Server, w.Servers), Rounds: make([]Round, w.Rounds), rules: rules(),
	}
	for i := range m.Servers {
		m.Servers[i] = Server{Run: 1, Repl: 1, Mark: 1, Marks: []Mark{{Repl: 1, Epoch: Moment{-2 * w.Ahead, w.Begin - 1 - 2*w.Ahead}}}}
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
	k := keyer{columns: make([][]byte, len(start.Servers)), odd: w.Offset != 0, moments: w.Losses}
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
			if broken != nil || !m.allows(&st) {
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
			return found, fmt.Errorf("%w, after:\n%s", broken, way(queue, len(queue)-1))
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
		if s.Counter != 0 && w.Expiry {
			try(Step{Kind: Expire, Server: server, Clock: w.clock(m, server)})
		}
		if s.Counter != 0 && w.Losses && s.Lost == 0 {
			try(Step{Kind: Lose, Server: server})
		}
		if restarts < w.Restarts && (w.Offset == 0 || server == len(m.Servers)-1) {
			w.restarts(m, server, try)
		}
	}
	for i := range m.Rounds {
		w.win(m, i+1, try)
		if m.Rounds[i].Valid && w.Waits {
			try(Step{Kind: End, Round: i + 1})
		}
	}
	if m.Now < 2*w.Ahead*w.Ticks && int64(restarts) >= min(m.Now/2/w.Ahead+1, int64(w.Restarts)) && m.marked() {
		try(Step{Kind: Tick, By: 2 * w.Ahead})
	}
}

// marked reports whether each server has the mark of its run.
func (m *Machine) marked() bool {
	return !slices.ContainsFunc(m.Servers, func(s Server) bool { return !s.marked() })
}

func (s *Server) marked() bool { return s.Mark != 0 && s.Marks[s.Mark-1].Repl == s.Repl }

// restarts tries the ways to begin another run: with the data of an earlier moment, after a restart or a
// demotion and promotion, and with none after a flush.
func (w World) restarts(m *Machine, server int, try func(Step)) {
	s := &m.Servers[server]
	if w.Waits {
		try(Step{Kind: Restart, Server: server, Repl: s.Repl})
	}
	for counter := range s.Counter + 1 {
		for holder := range len(m.Rounds) + 1 {
			if holder == 0 || m.Rounds[holder-1].voted(server) { // older data has only values that the server had
				step := Step{Kind: Restart, Server: server, Counter: counter, Other: holder, Mark: s.Mark, Repl: s.Repl + 1}
				try(step)
				step.Repl = s.Repl
				try(step)
			}
		}
	}
}

// clock is the earliest that a server's clock may show.
func (w World) clock(m *Machine, server int) int64 {
	switch {
	case !w.Waits:
		return 0
	case server == len(m.Servers)-1:
		return w.Begin + m.Now + w.Offset
	}
	return w.Begin + m.Now
}

// has reports whether a vote of the round has the token. Only then it can be the round's token.
func (r *Round) has(token int64) bool {
	return slices.ContainsFunc(r.Votes, func(v Vote) bool { return v.Token == token })
}

func (r *Round) voted(server int) bool {
	return slices.ContainsFunc(r.Votes, func(v Vote) bool { return v.Server == server })
}

// server tries the requests to one server.
func (w World) server(m *Machine, server int, try func(Step)) {
	s := &m.Servers[server]
	earliest := w.clock(m, server)
	for clock := earliest; clock <= earliest+w.Skew; clock++ {
		if w.Waits && !s.marked() {
			try(Step{Kind: Probe, Server: server, Clock: clock})
		}
		w.counts(s, clock, func(counter int64) {
			for i := range m.Rounds {
				w.grants(m, Step{Server: server, Round: i + 1, Clock: clock, Counter: counter}, try)
			}
			if w.Tries {
				w.tries(m, Step{Kind: Try, Server: server, Clock: clock, Counter: counter}, try)
			}
		})
	}
	for i := range m.Rounds {
		r := &m.Rounds[i]
		if len(r.Votes) == 0 {
			continue
		}
		step := Step{Server: server, Round: i + 1, Clock: earliest + w.Skew} // the latest clock allows the most
		for step.Counter = s.Counter + 1; step.Counter <= w.Tokens; step.Counter++ {
			if step.Kind = Raise; !r.Won && r.has(step.Counter) {
				try(step)
			}
		}
		for _, v := range r.Votes {
			if step.Kind, step.Counter = Restore, v.Token; w.Restored {
				try(step)
			}
		}
	}
}

// counts finds what a counter can come to. The first one is too low, and breaks a rule.
func (w World) counts(s *Server, clock int64, each func(counter int64)) {
	if s.Counter > 0 {
		each(s.Counter - 1)
		// No counter that starts at nothing is counted up as far as a floor.
		if next := s.Counter + 1; next <= w.Tokens && next != w.Begin {
			each(next)
		}
		return
	}
	for counter := int64(1); counter <= min(w.Tokens, clock+w.Ahead+1); counter++ {
		if !w.Waits || counter == 1 || counter >= clock-2*w.Ahead-1 {
			each(counter)
		}
	}
}

// tries tries requests of which no vote counts.
func (w World) tries(m *Machine, step Step, try func(Step)) {
	try(step)
	for i := range m.Rounds {
		if r := &m.Rounds[i]; !r.Won && !r.voted(step.Server) {
			step.Round = i + 1
			try(step)
		}
	}
}

// grants tries the grants of one server to one round. A round asks each server once. The rounds begin in order,
// because another order would only exchange their numbers.
func (w World) grants(m *Machine, step Step, try func(Step)) {
	s, r := &m.Servers[step.Server], &m.Rounds[step.Round-1]
	if r.voted(step.Server) || r.Won || step.Round > 1 && len(m.Rounds[step.Round-2].Votes) == 0 {
		return
	}
	step.Kind = Grant
	tokens := func() {
		for step.Token = max(1, step.Counter-1); step.Token <= min(w.Tokens, step.Counter+w.Higher); step.Token++ {
			try(step)
		}
		for step.Token = max(step.Token, step.Clock); step.Token <= min(w.Tokens, step.Clock+1); step.Token++ {
			try(step)
		}
	}
	if !w.Waits {
		tokens()
		return
	}
	// A client may know any mark that there was, and may read what there is, or what it knows.
	for step.Named = range s.Marks {
		step.Named++
		for _, step.Mark = range []int{s.Mark, step.Named} {
			for _, step.Repl = range []int{s.Repl, s.Marks[step.Named-1].Repl} {
				tokens()
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
		for token := int64(1); token <= w.Tokens; token++ {
			if r.has(token) {
				try(Step{Kind: Win, Round: number, Token: token, Votes: votes})
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
	moments bool // the claim reads moments
	columns [][]byte
	key     []byte
}

func (k *keyer) of(m *Machine) []byte {
	for server := range m.Servers {
		s := &m.Servers[server]
		b := append(k.columns[server][:0], byte(s.Counter), byte(s.Holder), byte(s.Age), byte(s.Lost), byte(len(s.Marks)))
		if m.waits {
			b = append(b, byte(s.Run), byte(s.Repl), byte(s.Mark))
			for _, mark := range s.Marks[1:] {
				b = append(b, byte(mark.Repl), byte(mark.Epoch.Time), byte(mark.Epoch.Clock))
			}
		}
		if k.moments {
			b = appendMoment(b, s.Started)
		}
		for i := range m.Rounds {
			for j := range m.Rounds[i].Votes {
				if v := &m.Rounds[i].Votes[j]; v.Server == server {
					b = k.vote(b, m, &m.Rounds[i], v)
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
		k.key = append(k.key, byte(r.Token), bit(r.Valid && m.waits))
	}
	for _, column := range k.columns {
		k.key = append(k.key, column...)
	}
	return k.key
}

func (k *keyer) vote(b []byte, m *Machine, r *Round, v *Vote) []byte {
	switch {
	case r.Won && !v.Settled:
		return append(b, 1)
	case r.Won && m.waits && r.Valid:
		b = append(b, 2, byte(v.Run))
	case r.Won:
		b = append(b, 3)
	default:
		b = append(b, 4|bit(v.Run == m.Servers[v.Server].Run)<<3|bit(v.Gone && m.waits)<<4, byte(v.Token), byte(v.Has))
	}
	g := &v.Given
	b = append(b, byte(v.At), byte(v.Age), byte(v.Lost), byte(g.Age), byte(g.Lost))
	if k.moments {
		b = append(appendMoment(appendMoment(appendMoment(b, v.Had), g.Moment), g.Started), bit(g.Made), byte(g.Counter))
	}
	return b
}

func appendMoment(b []byte, m Moment) []byte { return append(b, byte(m.Time), byte(m.Clock)) }

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
