package machine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// ErrRun is wrapped by the error for a run of the simulation that isn't a run of the machine.
var ErrRun = errors.New("machine: the run is none of the machine's")

// Counts says what happened in a run. A run without wins proves nothing.
type Counts struct {
	// Steps counts the machine's steps by kind.
	Steps map[Kind]int
	// Rounds counts the won rounds, and Handed the leases that were handed on within them.
	Rounds, Handed int
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
	runs      []([2]string) // of each server
	seen      []int         // the last event that showed the state of each server
	rounds    map[string]int
	of        []round
	named     map[string]int
}

// round is what the machine doesn't keep of a round.
type round struct {
	process string
	told    []bool // by vote: the process has received the reply to its request for the lock
	raised  []fencing.Token
	last    fencing.Token // the token of its latest lease
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
		l.runs[old], l.seen[old] = l.runs[i], l.seen[i]
	}
}

func (c *comparison) lock(key string) *lock {
	l := c.locks[key]
	if l == nil {
		l = &lock{Machine: Machine{rules: c.rules}, servers: map[string]int{}, instances: map[string]int{}, rounds: map[string]int{}, named: map[string]int{}}
		c.locks[key] = l
	}
	return l
}

// server returns the number of a server.
func (l *lock) server(at string) int {
	i, known := l.servers[at]
	if known {
		return i
	}
	instance := instanceOf(at)
	if _, known := l.instances[instance]; !known {
		l.instances[instance] = len(l.instances)
	}
	i = len(l.Servers)
	l.servers[at] = i
	l.Servers = append(l.Servers, Server{Instance: l.instances[instance], Run: 1})
	l.runs, l.seen = append(l.runs, [2]string{}), append(l.seen, 0)
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

// run returns the number of the run that a request names, 0 if it names none.
func (l *lock) run(named string) int {
	if named == "" {
		return 0
	}
	n, known := l.named[named]
	if !known {
		n = len(l.named) + 1
		l.named[named] = n
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
	if err := c.catchUp(l, server, at, e.Change.Run, k.Before); err != nil {
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

// catchUp takes the steps that no event shows: a key has expired, or a server has restarted or lost
// data.
func (c *comparison) catchUp(l *lock, server int, at string, run [2]string, found record.LockState) error {
	s := &l.Servers[server]
	holder, counter := l.round(found.Value), int64(found.Counter)
	switch {
	case l.runs[server] == [2]string{}:
		l.runs[server] = run
	case l.runs[server] != run:
		l.runs[server] = run
		if err := c.do(l, Step{Kind: Restart, Server: server, Last: counter, Other: holder}); err != nil {
			return err
		}
	case counter < s.Counter && c.suffered[instanceOf(at)] > l.seen[server]:
		if err := c.do(l, Step{Kind: Lose, Server: server, Last: counter}); err != nil {
			return err
		}
	}
	l.seen[server] = c.event
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

// carriedOut takes the step of the request itself.
func (c *comparison) carriedOut(l *lock, server int, e *record.Event, k *record.LockChange) error {
	ch := e.Change
	number := l.round(ch.Value)
	step := Step{Server: server, Round: number, Clock: ch.Clock, Named: l.run(ch.Named), Last: int64(ch.To)}
	granted := e.Words == "granted"
	id := call{e.Process, instanceOf(e.Place), e.N}
	switch {
	case e.Op == "acquire" && granted && e.Token != 0:
		of := &l.of[number-1]
		if of.process == "" {
			of.process = e.Process
		}
		if of.process != e.Process {
			return fmt.Errorf("%w: %s asks with a value of %s", ErrNoStep, e.Process, of.process)
		}
		step.Kind, step.First, step.Last, step.Other = Grant, int64(ch.First), int64(e.Token), l.round(ch.Replace)
		if err := c.do(l, step); err != nil {
			return err
		}
		of = &l.of[number-1] // l.round may have moved it
		of.told, of.raised = append(of.told, false), append(of.raised, 0)
		c.asked[id] = append(c.asked[id], reply{l: l, round: number - 1, vote: len(of.told) - 1})
		return nil
	case e.Op == "raise" && granted:
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
			l.of[number-1].last = ch.To
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
	case e.Op == "acquire" && k.Before != k.After:
		return fmt.Errorf("%v: an acquisition that was not granted changed %q from %+v to %+v", e.At, e.Key, k.Before, k.After)
	}
	return nil
}

// acquired takes the step of a lease. The first lease of a round wins it. Later ones are handed on.
func (c *comparison) acquired(e *record.Event) error {
	l := c.lock(e.Key)
	number, known := l.rounds[e.Change.Value]
	if !known || l.of[number-1].process != e.Process {
		return fmt.Errorf("%w: no server has granted it to %s", ErrNoStep, e.Process)
	}
	of, r := &l.of[number-1], &l.Rounds[number-1]
	before := of.last
	of.last = e.Token
	if !r.Won {
		return c.win(l, number, e.Token, e.Change.Quorum)
	}
	c.counts.Handed++
	if e.Token <= before || int64(e.Token) > r.Last {
		return fmt.Errorf("%w: a lease is handed on with the token %d, which isn't above %d and at most %d", ErrNoStep, e.Token, before, r.Last)
	}
	return nil
}

// win finds the tokens of a round as package settlement does: the largest that a quorum has.
func (c *comparison) win(l *lock, number int, first fencing.Token, quorum int) error {
	l.Quorum = quorum
	of, r := &l.of[number-1], &l.Rounds[number-1]
	best := Step{Kind: Win, Round: number, First: int64(first)}
	for _, candidate := range r.Votes {
		st := best
		st.Last, st.Votes = candidate.Last, nil
		for i, v := range r.Votes {
			knows := of.told[i] && (v.Last == st.Last || int64(of.raised[i]) >= st.Last)
			if knows && v.Last <= st.Last && v.First <= st.First && v.Has >= st.Last {
				st.Votes = append(st.Votes, i)
			}
		}
		if n := len(st.Votes); n >= l.Quorum && (len(best.Votes) < l.Quorum || st.Last > best.Last) || n > len(best.Votes) && len(best.Votes) < l.Quorum {
			best = st
		}
	}
	c.counts.Rounds++
	if err := c.do(l, best); err != nil {
		return fmt.Errorf("%w; %d votes count", err, len(best.Votes))
	}
	return l.Check(number)
}
