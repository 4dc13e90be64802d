package quorumtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// ErrBadCommand is the failure of a command that quorum promises never to send:
// a TTL of a fraction of a millisecond, an empty key, and the like. A real
// server would answer it with a syntax error, or do something unexpected.
var ErrBadCommand = errors.New("quorumtest: bad command")

// store is a server's data, with the meaning of every command and nothing of
// the network. It isn't safe for concurrent use.
type store struct {
	keys     map[string]entry
	counters map[string]counter
	records  map[string]record
	lines    map[string]line

	// call calls a waiter and reports whether it was heard; nil: nobody is.
	call func(waiter, key string) bool
}

// line is who waits for a key, first come first served.
type line struct {
	waiters []string
	expires time.Time
}

// entry is a lock's key. A zero expires is a key that lives for ever.
type entry struct {
	value   string
	expires time.Time
}

// counter is kept beside a lock's key: the resource's last token.
type counter struct {
	token   fencing.Token
	expires time.Time
}

// record is kept beside a counter, in a key of its own: the set under which the
// resource was last locked, and the run of the server in which its counter was last
// granted from, empty if none is known. What writes the counter lets both expire at
// the same time, but a server that drops keys may drop either.
type record struct {
	set     string
	run     wire.Run
	expires time.Time
}

func newStore() store {
	return store{keys: map[string]entry{}, counters: map[string]counter{}, records: map[string]record{}, lines: map[string]line{}}
}

func expired(expires, now time.Time) bool { return !expires.IsZero() && !now.Before(expires) }

// key gives the entry that key has at now; an expired one is dropped.
func (s *store) key(key string, now time.Time) (entry, bool) {
	e, ok := s.keys[key]
	if ok && expired(e.expires, now) {
		delete(s.keys, key)
		return entry{}, false
	}
	return e, ok
}

func (s *store) counter(key string, now time.Time) (counter, bool) {
	c, ok := s.counters[key]
	if ok && expired(c.expires, now) {
		delete(s.counters, key)
		return counter{}, false
	}
	return c, ok
}

func (s *store) record(key string, now time.Time) (record, bool) {
	r, ok := s.records[key]
	if ok && expired(r.expires, now) {
		delete(s.records, key)
		return record{}, false
	}
	return r, ok
}

// live lists the keys that exist at now, sorted.
func (s *store) live(now time.Time) []string {
	keys := slices.Sorted(maps.Keys(s.keys))
	return slices.DeleteFunc(keys, func(key string) bool {
		_, ok := s.key(key, now)
		return !ok
	})
}

// remaining is what PTTL says, rounded up: a key that exists never has 0.
func (e entry) remaining(now time.Time) time.Duration {
	if e.expires.IsZero() {
		return wire.NoExpiry
	}
	return (e.expires.Sub(now) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// run carries out one command at the moment now of the server's wall clock.
func (s *store) run(cmd wire.Request, now time.Time) wire.Vote {
	vote := s.outcome(cmd, now)
	if vote.Outcome != wire.Failed && (cmd.Clock || cmd.Op == wire.Tick) {
		vote.Clock = time.UnixMicro(now.UnixMicro())
	}
	return vote
}

func (s *store) outcome(cmd wire.Request, now time.Time) wire.Vote {
	if err := validate(cmd); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	held, exists := s.key(cmd.Key, now)
	mine := exists && held.value == cmd.Value
	refused := wire.Vote{Outcome: wire.Refused}
	granted := wire.Vote{Outcome: wire.Granted}

	switch cmd.Op {
	case wire.Acquire:
		return s.acquire(cmd, held, exists, now)

	case wire.Raise:
		if !mine {
			return refused
		}
		if err := s.lift(cmd, now); err != nil {
			return wire.Vote{Err: err}
		}
		return granted

	case wire.Extend:
		if !mine {
			return refused
		}
		s.keys[cmd.Key] = entry{cmd.Value, now.Add(cmd.TTL)}
		return granted

	case wire.Restore:
		if exists && !mine {
			return refused
		}
		if cmd.Fence {
			if err := s.lift(cmd, now); err != nil {
				return wire.Vote{Unsent: true, Err: err}
			}
		}
		if !exists {
			s.keys[cmd.Key] = entry{cmd.Value, now.Add(cmd.TTL)}
		}
		return granted

	case wire.Release:
		vote := refused
		if mine {
			delete(s.keys, cmd.Key)
			vote = granted
		}
		if cmd.Notify && (mine || !exists) {
			vote.Notified = s.callNext(cmd.Key, now)
		}
		return vote

	case wire.Enqueue:
		if !exists && !cmd.Yield {
			return refused
		}
		s.enlist(cmd, now)
		return granted

	case wire.Dequeue:
		if s.withdraw(cmd, now) {
			return granted
		}
		if !exists {
			refused.Notified = s.callNext(cmd.Key, now)
		}
		return refused

	case wire.Look:
		vote := granted
		if exists {
			vote = wire.Vote{Outcome: wire.Refused, Holder: held.value, Remaining: held.remaining(now)}
		}
		if cmd.Fence {
			c, _ := s.counter(cmd.Key, now)
			vote.Token = c.token
		}
		return vote

	default: // Tick: validate lets nothing else through.
		return granted
	}
}

// acquire looks at the set before the key: a client of another set must hear of
// it also while the lock is taken, it would wait for nothing.
func (s *store) acquire(cmd wire.Request, held entry, exists bool, now time.Time) wire.Vote {
	if cmd.Fence {
		if err := s.checkSet(cmd, now); err != nil {
			return wire.Vote{Outcome: wire.Refused, Err: err}
		}
	}
	replaces := exists && cmd.Replace != "" && held.value == cmd.Replace
	if exists && !replaces {
		return wire.Vote{Outcome: wire.Refused, Remaining: held.remaining(now)}
	}
	vote := wire.Vote{Outcome: wire.Granted, Replaced: replaces}
	if cmd.Fence {
		var err error
		if vote.Token, vote.Reserved, err = s.count(cmd, now); err != nil {
			return wire.Vote{Unsent: true, Err: err}
		}
	}
	s.keys[cmd.Key] = entry{cmd.Value, now.Add(cmd.TTL)}
	return vote
}

// count raises the counter for a grant, and gives how many tokens were reserved with it.
func (s *store) count(cmd wire.Request, now time.Time) (token fencing.Token, spare int, err error) {
	c, known := s.counter(cmd.Key, now)
	r, _ := s.record(cmd.Key, now)
	clock := fencing.Token(max(0, now.UnixMicro()))
	if !known || cmd.Run != "" && r.run != cmd.Run {
		// Above what an instance gave that lost its counter, or came back with an
		// older one: see the proof in package quorum.
		c.token = max(c.token, clock)
	}
	if cmd.Run != "" {
		r.run = cmd.Run
	}
	c.token++
	if c.token > most(cmd, now) {
		return 0, 0, &wire.CounterError{Token: c.token, Clock: now, Most: cmd.Ahead}
	}
	if c.token < clock {
		spare = int(min(fencing.Token(cmd.Reserve), clock-c.token))
	}
	c.token += fencing.Token(spare)
	r.set, c.expires, r.expires = cmd.Set.String(), now.Add(cmd.CounterTTL), now.Add(cmd.CounterTTL)
	s.counters[cmd.Key], s.records[cmd.Key] = c, r
	return c.token, spare, nil
}

// most is what a counter may be raised to: so far ahead of the clock.
func most(cmd wire.Request, now time.Time) fencing.Token {
	return min(fencing.Token(max(0, now.Add(cmd.Ahead).UnixMicro())), fencing.MaxToken)
}

// line gives who waits for a key at now.
func (s *store) line(key string, now time.Time) line {
	l, ok := s.lines[key]
	if ok && (len(l.waiters) == 0 || expired(l.expires, now)) {
		delete(s.lines, key)
		return line{}
	}
	return l
}

func (s *store) enlist(cmd wire.Request, now time.Time) {
	l := s.line(cmd.Key, now)
	switch at := slices.Index(l.waiters, cmd.Waiter); {
	case at >= 0:
	case cmd.Front:
		l.waiters = slices.Insert(l.waiters, 0, cmd.Waiter)
	default:
		l.waiters = append(l.waiters, cmd.Waiter)
	}
	l.expires = now.Add(cmd.TTL)
	s.lines[cmd.Key] = l
}

// withdraw reports whether the waiter was in the line.
func (s *store) withdraw(cmd wire.Request, now time.Time) bool {
	l := s.line(cmd.Key, now)
	at := slices.Index(l.waiters, cmd.Waiter)
	if at < 0 {
		return false
	}
	l.waiters = slices.Delete(l.waiters, at, at+1)
	s.lines[cmd.Key] = l
	return true
}

// callNext calls the first in line who hears it, and takes those before it out.
func (s *store) callNext(key string, now time.Time) bool {
	for {
		l := s.line(key, now)
		if len(l.waiters) == 0 {
			return false
		}
		first := l.waiters[0]
		l.waiters = l.waiters[1:]
		s.lines[key] = l
		if s.call != nil && s.call(first, key) {
			return true
		}
	}
}

func (s *store) checkSet(cmd wire.Request, now time.Time) error {
	r, _ := s.record(cmd.Key, now)
	if r.set == "" || r.set == cmd.Set.String() {
		return nil
	}
	if old, err := wire.ParseSet(r.set); err == nil && cmd.Set.Supersedes(old) {
		return nil
	}
	return &wire.SetMismatchError{Mine: cmd.Set, Theirs: r.set}
}

// lift raises the counter to the command's token. It never lowers it, nor raises it
// further ahead of the clock than the command lets it.
//
// The record stays as it is, but where there is no set a Restore writes it: only
// Acquire may take a resource over for another set. The run is Acquire's alone to
// write, for it says that the counter was lifted to the clock; a token that was given
// by other servers is no reason to believe that.
func (s *store) lift(cmd wire.Request, now time.Time) error {
	c, _ := s.counter(cmd.Key, now)
	if c.token < cmd.Token && cmd.Token > most(cmd, now) {
		return &wire.CounterError{Token: cmd.Token, Clock: now, Most: cmd.Ahead}
	}
	c.token, c.expires = max(c.token, cmd.Token), now.Add(cmd.CounterTTL)
	s.counters[cmd.Key] = c
	r, known := s.record(cmd.Key, now)
	if cmd.Op == wire.Restore && r.set == "" && cmd.Set != (wire.Set{}) {
		r.set, known = cmd.Set.String(), true
	}
	if known {
		r.expires = now.Add(cmd.CounterTTL)
		s.records[cmd.Key] = r
	}
	return nil
}

func validate(cmd wire.Request) error {
	wholeMs := func(d time.Duration) bool { return d >= time.Millisecond && d%time.Millisecond == 0 }
	var keyed, valued, timed, counted, tokened, waited bool
	switch cmd.Op {
	case wire.Acquire:
		keyed, valued, timed, counted = true, true, true, cmd.Fence
	case wire.Raise:
		keyed, valued, counted, tokened = true, true, true, true
	case wire.Extend:
		keyed, valued, timed = true, true, true
	case wire.Restore:
		keyed, valued, timed, counted, tokened = true, true, true, cmd.Fence, cmd.Fence
	case wire.Release:
		keyed, valued = true, true
	case wire.Look:
		keyed = true
	case wire.Tick:
	case wire.Enqueue:
		keyed, timed, waited = true, true, true
	case wire.Dequeue:
		keyed, waited = true, true
	default:
		return fmt.Errorf("%w: no operation has the number %d", ErrBadCommand, cmd.Op)
	}
	switch {
	case keyed && cmd.Key == "":
		return fmt.Errorf("%w: %v without a Key", ErrBadCommand, cmd.Op)
	case valued && cmd.Value == "":
		return fmt.Errorf("%w: %v of %q without a Value", ErrBadCommand, cmd.Op, cmd.Key)
	case waited && cmd.Waiter == "":
		return fmt.Errorf("%w: %v of %q without a Waiter", ErrBadCommand, cmd.Op, cmd.Key)
	case timed && !wholeMs(cmd.TTL):
		return fmt.Errorf("%w: %v of %q has the TTL %v, want whole milliseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.TTL)
	case counted && !wholeMs(cmd.CounterTTL):
		return fmt.Errorf("%w: %v of %q has the CounterTTL %v, want whole milliseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.CounterTTL)
	case counted && (cmd.Ahead < time.Microsecond || cmd.Ahead%time.Microsecond != 0):
		return fmt.Errorf("%w: %v of %q has the Ahead %v, want whole microseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.Ahead)
	case tokened && !cmd.Token.Valid():
		return fmt.Errorf("%w: %v of %q has the Token %d, want 1 to %d", ErrBadCommand, cmd.Op, cmd.Key, cmd.Token, fencing.MaxToken)
	case cmd.Reserve < 0 || cmd.Reserve > 0 && (cmd.Op != wire.Acquire || !cmd.Fence):
		return fmt.Errorf("%w: %v of %q has the Spare %d, want zero or more, and zero without a counter", ErrBadCommand, cmd.Op, cmd.Key, cmd.Reserve)
	}
	return nil
}
