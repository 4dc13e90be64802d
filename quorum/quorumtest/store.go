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
	queues   map[string]queue

	// notify notifies the process with this address, and reports whether it has a
	// subscription; nil: no process has one.
	notify func(address, key string) bool
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
	return store{keys: map[string]entry{}, counters: map[string]counter{}, records: map[string]record{}, queues: map[string]queue{}}
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

// run carries out one request at the moment now of the server's wall clock.
func (s *store) run(cmd wire.Request, now time.Time) wire.Vote {
	return withClock(s.outcome(cmd, now), cmd, now)
}

// withClock adds the server's clock to a vote that is to carry it.
func withClock(vote wire.Vote, cmd wire.Request, now time.Time) wire.Vote {
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
		if cmd.Fence.On {
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
			vote.Notified = s.notifyNext(cmd.Key, now)
		}
		return vote

	case wire.Look:
		vote := granted
		if exists {
			vote = wire.Vote{Outcome: wire.Refused, Holder: held.value, Remaining: held.remaining(now)}
		}
		if cmd.Fence.On {
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
	if cmd.Fence.On {
		if err := s.checkSet(cmd, now); err != nil {
			return wire.Vote{Outcome: wire.Refused, Err: err}
		}
	}
	replaces := exists && cmd.Replace != "" && held.value == cmd.Replace
	if exists && !replaces {
		return wire.Vote{Outcome: wire.Refused, Remaining: held.remaining(now)}
	}
	vote := wire.Vote{Outcome: wire.Granted, Replaced: replaces}
	if cmd.Fence.On {
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
		return 0, 0, &wire.CounterError{Token: c.token, Clock: now, Most: cmd.Fence.Ahead}
	}
	if c.token < clock {
		spare = int(min(fencing.Token(cmd.Fence.Reserve), clock-c.token))
	}
	c.token += fencing.Token(spare)
	r.set, c.expires, r.expires = cmd.Fence.Set.String(), now.Add(cmd.Fence.TTL), now.Add(cmd.Fence.TTL)
	s.counters[cmd.Key], s.records[cmd.Key] = c, r
	return c.token, spare, nil
}

// most is what a counter may be raised to: so far ahead of the clock.
func most(cmd wire.Request, now time.Time) fencing.Token {
	return min(fencing.Token(max(0, now.Add(cmd.Fence.Ahead).UnixMicro())), fencing.MaxToken)
}

func (s *store) checkSet(cmd wire.Request, now time.Time) error {
	r, _ := s.record(cmd.Key, now)
	if r.set == "" || r.set == cmd.Fence.Set.String() {
		return nil
	}
	if old, err := wire.ParseSet(r.set); err == nil && cmd.Fence.Set.Supersedes(old) {
		return nil
	}
	return &wire.SetMismatchError{Mine: cmd.Fence.Set, Theirs: r.set}
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
	if c.token < cmd.Fence.Token && cmd.Fence.Token > most(cmd, now) {
		return &wire.CounterError{Token: cmd.Fence.Token, Clock: now, Most: cmd.Fence.Ahead}
	}
	c.token, c.expires = max(c.token, cmd.Fence.Token), now.Add(cmd.Fence.TTL)
	s.counters[cmd.Key] = c
	r, known := s.record(cmd.Key, now)
	if cmd.Op == wire.Restore && r.set == "" && cmd.Fence.Set != (wire.Set{}) {
		r.set, known = cmd.Fence.Set.String(), true
	}
	if known {
		r.expires = now.Add(cmd.Fence.TTL)
		s.records[cmd.Key] = r
	}
	return nil
}

func wholeMs(d time.Duration) bool { return d >= time.Millisecond && d%time.Millisecond == 0 }

func validate(cmd wire.Request) error {
	var keyed, valued, timed, counted, tokened bool
	switch cmd.Op {
	case wire.Acquire:
		keyed, valued, timed, counted = true, true, true, cmd.Fence.On
	case wire.Raise:
		keyed, valued, counted, tokened = true, true, true, true
	case wire.Extend:
		keyed, valued, timed = true, true, true
	case wire.Restore:
		keyed, valued, timed, counted, tokened = true, true, true, cmd.Fence.On, cmd.Fence.On
	case wire.Release:
		keyed, valued = true, true
	case wire.Look:
		keyed = true
	case wire.Tick:
	default:
		return fmt.Errorf("%w: no operation has the number %d", ErrBadCommand, cmd.Op)
	}
	switch {
	case keyed && cmd.Key == "":
		return fmt.Errorf("%w: %v without a Key", ErrBadCommand, cmd.Op)
	case valued && cmd.Value == "":
		return fmt.Errorf("%w: %v of %q without a Value", ErrBadCommand, cmd.Op, cmd.Key)
	case timed && !wholeMs(cmd.TTL):
		return fmt.Errorf("%w: %v of %q has the TTL %v, want whole milliseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.TTL)
	case counted && !wholeMs(cmd.Fence.TTL):
		return fmt.Errorf("%w: %v of %q has the CounterTTL %v, want whole milliseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.Fence.TTL)
	case counted && (cmd.Fence.Ahead < time.Microsecond || cmd.Fence.Ahead%time.Microsecond != 0):
		return fmt.Errorf("%w: %v of %q has the Ahead %v, want whole microseconds, at least one", ErrBadCommand, cmd.Op, cmd.Key, cmd.Fence.Ahead)
	case tokened && !cmd.Fence.Token.Valid():
		return fmt.Errorf("%w: %v of %q has the Token %d, want 1 to %d", ErrBadCommand, cmd.Op, cmd.Key, cmd.Fence.Token, fencing.MaxToken)
	case cmd.Fence.Reserve < 0 || cmd.Fence.Reserve > 0 && (cmd.Op != wire.Acquire || !cmd.Fence.On):
		return fmt.Errorf("%w: %v of %q has the Spare %d, want zero or more, and zero without a counter", ErrBadCommand, cmd.Op, cmd.Key, cmd.Fence.Reserve)
	}
	return nil
}
