package machine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// ErrRun is wrapped by the error for a run of the simulation that isn't a run of the machine.
var ErrRun = errors.New("machine: the run is none of the machine's")

// Counts says what happened in a run. A run without wins proves nothing.
type Counts struct {
	// Steps counts the machine's steps by kind.
	Steps map[Kind]int
	// Rounds counts the won rounds, and Lifted the votes for more than the counter.
	Rounds, Lifted int
}

// Check compares a run with the machine, event by event. The error Is ErrRun. It names the first event
// that isn't a step of the machine, or after which the claim doesn't hold.
func Check(log record.Log) error {
	_, err := Compare(log)
	return err
}

// Compare does the same as Check, and counts what happened in the run.
func Compare(log record.Log) (Counts, error) { return compare(log, runRules) }

// runRules are shared by all comparisons, because nothing changes them.
var runRules = rules()

func compare(log record.Log, rules []rule) (Counts, error) {
	c := comparison{
		rules: rules,
		locks: map[string]*lock{}, suffered: map[string]int{}, asked: map[call][]reply{},
		counts: Counts{Steps: map[Kind]int{}},
	}
	for e := range log.All() {
		c.event++
		if err := c.take(e); err != nil {
			text := strings.TrimSuffix(record.Log{{*e}}.String(), "\n")
			return c.counts, fmt.Errorf("%w: event %d, %q: %w", ErrRun, c.event, text, err)
		}
	}
	return c.counts, nil
}

// comparison is the state of a comparison after some events.
type comparison struct {
	rules    []rule
	event    int
	locks    map[string]*lock // by key
	suffered map[string]int   // by server: the event of its last fault
	asked    map[call][]reply
	counts   Counts
}

// instanceOf is the name under which clients know a server. An old master has the same name as the new
// one, and a server to which an address has moved has the name of the server before it.
func instanceOf(server string) string { return strings.TrimRight(server, "'~") }

// lock is the machine of one lock, and what its numbers stand for.
type lock struct {
	Machine
	servers   map[string]int
	instances map[string]int
	known     []known // of each server
	rounds    map[string]int
	of        []round
	repls     map[string]int
}

// known is what the machine doesn't keep of a server.
type known struct {
	run   [2]string
	mark  wire.Run
	marks map[wire.Run]int
	seen  int // the last event that showed its state
}

// round is what the machine doesn't keep of a round.
type round struct {
	process string
	told    []bool // by vote: the process has received the reply to its request for the lock
	raised  []fencing.Token
}

// call identifies a request of a process, and reply is what its answer tells a round.
type call struct {
	process, instance string
	n                 uint64
}

type reply struct {
	l           *lock
	round, vote int
	raised      fencing.Token // 0: the vote itself
}

func (c *comparison) take(e *record.Event) error {
	switch e.Kind {
	case record.Suffered:
		c.suffered[e.Place] = c.event
		if e.Fault.Kind == fault.SplitBrain {
			c.split(e.Place)
		}
	case record.Received:
		id := call{e.Process, e.Place, e.N}
		for _, r := range c.asked[id] {
			of := &r.l.of[r.round]
			if of.raised[r.vote] = max(of.raised[r.vote], r.raised); r.raised == 0 {
				of.told[r.vote] = true
			}
		}
		delete(c.asked, id)
	case record.Voted, record.Answered:
		if e.Change == nil {
			return nil
		}
		for i := range e.Change.Locks {
			if err := c.request(e, &e.Change.Locks[i]); err != nil {
				return err
			}
		}
	case record.Acquired:
		switch {
		case e.Change.Value == "": // a term of an election
			return nil
		case e.Token == 0:
			return fmt.Errorf("%w: %s has a lease without a token", ErrNoStep, e.Process)
		}
		return c.acquired(e)
	}
	return nil
}

// split gives the old master of a split brain the state that the server has.
func (c *comparison) split(name string) {
	for _, l := range c.locks {
		i, known := l.servers[name]
		if !known {
			continue
		}
		old := l.server(name + "'")
		l.Servers[old] = l.Servers[i]
		l.Servers[old].Age = 1<<30 + c.event // differs from that of every other counter
		l.known[old] = l.known[i]
		l.known[old].marks = maps.Clone(l.known[i].marks)
	}
}

func (c *comparison) lock(key string) *lock {
	l := c.locks[key]
	if l == nil {
		l = &lock{Machine: Machine{rules: c.rules}, servers: map[string]int{}, instances: map[string]int{}, rounds: map[string]int{}, repls: map[string]int{}}
		c.locks[key] = l
	}
	return l
}

// server returns the number of a server.
func (l *lock) server(at string) int {
	i, have := l.servers[at]
	if have {
		return i
	}
	instance := instanceOf(at)
	if _, have := l.instances[instance]; !have {
		l.instances[instance] = len(l.instances)
	}
	i = len(l.Servers)
	l.servers[at] = i
	l.Servers = append(l.Servers, Server{Instance: l.instances[instance], Run: 1})
	l.known = append(l.known, known{marks: map[wire.Run]int{}})
	return i
}

// round returns the number of the round with a value, 0 for an empty value.
func (l *lock) round(value string) int {
	if value == "" {
		return 0
	}
	n, known := l.rounds[value]
	if !known {
		l.Rounds, l.of = append(l.Rounds, Round{}), append(l.of, round{})
		n = len(l.Rounds)
		l.rounds[value] = n
	}
	return n
}

// repl returns the number of a replication ID.
func (l *lock) repl(id string) int {
	n, known := l.repls[id]
	if !known {
		n = len(l.repls) + 1
		l.repls[id] = n
	}
	return n
}

// do takes a step of a lock, and counts it.
func (c *comparison) do(l *lock, st Step) error {
	c.counts.Steps[st.Kind]++
	return l.Do(&st)
}

// request takes the step of a request that a server has carried out. Before it, it takes the steps that
// happened to the lock without an event.
func (c *comparison) request(e *record.Event, k *record.LockChange) error {
	l, at := c.lock(k.Key), e.Place
	server := l.server(at)
	l.Now, l.Ahead = e.At.Microseconds(), int64(max(e.Change.Ahead, time.Microsecond)/time.Microsecond)
	if err := c.catchUp(l, server, e, k.Before); err != nil {
		return err
	}
	if err := c.carriedOut(l, server, e, k); err != nil {
		return err
	}
	s := &l.Servers[server]
	if got, want := int64(k.After.Counter), s.Counter; got != want {
		return fmt.Errorf("the counter of %q is %d, and the machine's %d", k.Key, got, want)
	}
	if got, want := l.round(k.After.Value), s.Holder; got != want {
		return fmt.Errorf("%q has the value of round %d, and in the machine that of round %d", k.Key, got, want)
	}
	return nil
}

// catchUp takes the steps that no event shows: a key or a counter has expired, a server has restarted or lost
// data, or a client has written a mark.
func (c *comparison) catchUp(l *lock, server int, e *record.Event, found record.LockState) error {
	s, k, ch := &l.Servers[server], &l.known[server], e.Change
	holder, counter := l.round(found.Value), int64(found.Counter)
	step := Step{Server: server, Counter: counter, Other: holder, Clock: ch.Clock}
	switch {
	case k.run == [2]string{}:
		s.Repl = l.repl(ch.Run[1])
	case k.run != ch.Run:
		step.Kind, step.Mark, step.Repl = Restart, s.Mark, l.repl(ch.Run[1])
	case counter < s.Counter && c.suffered[instanceOf(e.Place)] > k.seen:
		step.Kind = Lose
	case counter == 0 && s.Counter != 0:
		step.Kind = Expire
	}
	k.run, k.seen = ch.Run, c.event
	if step.Kind != "" {
		if err := c.do(l, step); err != nil {
			return err
		}
	}
	if err := c.mark(l, server, ch); err != nil {
		return err
	}
	if holder == 0 && s.Holder != 0 {
		if err := c.do(l, Step{Kind: Delete, Server: server}); err != nil {
			return err
		}
	}
	if s.Counter != counter || s.Holder != holder {
		return fmt.Errorf("%w: before it, the counter was %d and the key had the value of round %d; the machine has %d and %d", ErrNoStep, counter, holder, s.Counter, s.Holder)
	}
	return nil
}

// mark takes the step of a mark that was written.
func (c *comparison) mark(l *lock, server int, ch *record.Change) error {
	s, k := &l.Servers[server], &l.known[server]
	if ch.Mark == k.mark {
		return nil
	}
	k.mark = ch.Mark
	if ch.Mark == "" {
		s.Mark = 0
		return nil
	}
	if number := k.marks[ch.Mark]; number != 0 {
		s.Mark = number
		return nil
	}
	epoch, err := strconv.ParseInt(ch.Mark.Epoch(), 10, 64)
	if err != nil {
		return fmt.Errorf("the mark %q: %w", ch.Mark, err)
	}
	now := l.Now
	l.Now = ch.Marked.Microseconds()
	err = c.do(l, Step{Kind: Probe, Server: server, Clock: epoch})
	l.Now = now
	k.marks[ch.Mark] = s.Mark
	return err
}

// carriedOut takes the step of the request itself.
func (c *comparison) carriedOut(l *lock, server int, e *record.Event, k *record.LockChange) error {
	ch := e.Change
	number := l.round(ch.Value)
	step := Step{Server: server, Round: number, Clock: ch.Clock, Counter: int64(ch.To)}
	granted := e.Words == "granted"
	id := call{e.Process, instanceOf(e.Place), e.N}
	switch {
	case e.Op == "acquire" && k.After.Counter != k.Before.Counter:
		return c.counted(l, step, e, k)
	case (e.Op == "raise" || e.Op == "pass") && granted && ch.To != 0:
		step.Kind = Raise
		if err := c.do(l, step); err != nil {
			return err
		}
		for i, v := range l.Rounds[number-1].Votes {
			if v.Server == server && v.Run == l.Servers[server].Run {
				c.asked[id] = append(c.asked[id], reply{l: l, round: number - 1, vote: i, raised: ch.To})
			}
		}
		return nil
	case e.Op == "restore" && granted && ch.To != 0:
		// No event shows the leases of elections and jobs. Only a lease is restored, so the round
		// was won.
		if !l.Rounds[number-1].Won {
			if err := c.win(l, number, ch.To, cmp.Or(l.Quorum, len(l.instances)/2+1)); err != nil {
				return err
			}
		}
		step.Kind = Restore
		return c.do(l, step)
	case e.Op == "restore" && granted, e.Op == "acquire" && granted:
		return nil // it has no token
	case e.Op == "release" && k.Before.Value == ch.Value && k.After.Value == "":
		step.Kind = Delete
		return c.do(l, step)
	}
	return nil
}

// counted takes the step of an acquisition: it deletes earlier values of its client, counts, and sets the key if
// that is free then.
func (c *comparison) counted(l *lock, step Step, e *record.Event, k *record.LockChange) error {
	ch, s := e.Change, &l.Servers[step.Server]
	if k.Before.Value != "" && slices.Contains(ch.Delete, k.Before.Value) {
		if err := c.do(l, Step{Kind: Delete, Server: step.Server}); err != nil {
			return err
		}
	}
	step.Counter = int64(k.After.Counter)
	if e.Words != "granted" {
		step.Kind = Try
		if s.Holder != 0 || k.After.Value != ch.Value {
			step.Round = 0
		}
		return c.do(l, step)
	}
	of := &l.of[step.Round-1]
	if of.process = cmp.Or(of.process, e.Process); of.process != e.Process {
		return fmt.Errorf("%w: %s asks with a value of %s", ErrNoStep, e.Process, of.process)
	}
	step.Kind, step.Token, step.Mark, step.Repl = Grant, int64(e.Token), s.Mark, s.Repl
	if ch.Named.Epoch() != "" {
		if step.Named = l.known[step.Server].marks[ch.Named]; step.Named == 0 {
			return fmt.Errorf("%w: it names the run %q, which the server was never in", ErrNoStep, ch.Named)
		}
	}
	if step.Token > step.Counter {
		c.counts.Lifted++
	}
	if err := c.do(l, step); err != nil {
		return err
	}
	of.told, of.raised = append(of.told, false), append(of.raised, 0)
	id := call{e.Process, instanceOf(e.Place), e.N}
	c.asked[id] = append(c.asked[id], reply{l: l, round: step.Round - 1, vote: len(of.told) - 1})
	return nil
}

// acquired takes the step of a lease, which wins its round.
func (c *comparison) acquired(e *record.Event) error {
	l := c.lock(e.Key)
	number, known := l.rounds[e.Change.Value]
	if !known || l.of[number-1].process != e.Process {
		return fmt.Errorf("%w: no server has granted it to %s", ErrNoStep, e.Process)
	}
	if r := &l.Rounds[number-1]; r.Won {
		// A lease that is passed on has the round's value. What the servers do for it are raises, also on servers
		// that have the value without having granted the round. So it has no step, and its token is checked.
		if int64(e.Token) <= r.Token {
			return fmt.Errorf("%w: a second lease of a round, with the token %d after %d", ErrNoStep, e.Token, r.Token)
		}
		r.Token = int64(e.Token)
		return l.Check(number)
	}
	return c.win(l, number, e.Token, e.Change.Quorum)
}

// win takes the step with all votes that count for the token, as far as the client knows.
func (c *comparison) win(l *lock, number int, token fencing.Token, quorum int) error {
	l.Quorum = quorum
	of, r := &l.of[number-1], &l.Rounds[number-1]
	step := Step{Kind: Win, Round: number, Token: int64(token)}
	for i, v := range r.Votes {
		knows := of.told[i] && (v.Given.Counter >= step.Token || of.raised[i] >= token)
		if knows && v.Token <= step.Token && v.Has >= step.Token {
			step.Votes = append(step.Votes, i)
		}
	}
	c.counts.Rounds++
	if err := c.do(l, step); err != nil {
		return fmt.Errorf("%w; %d votes count", err, len(step.Votes))
	}
	return l.Check(number)
}
