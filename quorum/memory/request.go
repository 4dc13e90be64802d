package memory

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// ErrBadRequest is the error of a request that package quorum promises never to send, such
// as one with an empty key or a TTL of a fraction of a millisecond.
var ErrBadRequest = errors.New("memory: bad request")

// Run executes a request at the time now of the server's wall clock. A request that package
// quorum never sends fails with ErrBadRequest, Unsent. The run that the request names isn't compared,
// see RunIn.
func (d *Data) Run(cmd wire.Request, now time.Time) wire.Vote {
	cmd.Run = ""
	return d.RunIn(wire.Identity{}, cmd, now)
}

// RunIn is Run on a server that is id now. A request that names another run fails with a *wire.RunError,
// or a *wire.SetMismatchError. It isn't executed, unless it is an Acquire: that is executed first, and
// judged afterwards.
func (d *Data) RunIn(id wire.Identity, cmd wire.Request, now time.Time) wire.Vote {
	if err := validate(cmd); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	d.sweep(now)
	other := otherRun(cmd, id)
	if other != nil && cmd.Op != wire.Acquire {
		return wire.Vote{Err: other, Unsent: true}
	}
	vote := d.vote(cmd, now)
	if other != nil {
		return wire.Vote{Err: other, Unsent: vote.Outcome == wire.Refused}
	}
	if vote.Outcome == wire.Granted && len(cmd.Keys) > 1 {
		vote.Keys = uint8(len(cmd.Keys))
	}
	if vote.Outcome != wire.Failed && (cmd.Clock || cmd.Op == wire.Tick) {
		vote.Clock = time.UnixMicro(now.UnixMicro())
	}
	return vote
}

func (d *Data) vote(cmd wire.Request, now time.Time) wire.Vote {
	switch cmd.Op {
	case wire.Acquire:
		return d.acquire(cmd, now)
	case wire.Raise, wire.Restore, wire.Pass:
		return d.lift(cmd, now)
	case wire.Extend:
		return d.extend(cmd, now)
	case wire.Release:
		return d.release(cmd, now)
	case wire.Look:
		return d.look(cmd, now)
	case wire.Enqueue:
		return d.enqueue(cmd, now)
	case wire.Dequeue:
		return d.dequeue(cmd, now)
	default: // Tick: validate lets nothing else through.
		return wire.Vote{Outcome: wire.Granted}
	}
}

// acquire sets all keys or none, and counts all counters up. What came of it is judged afterwards.
func (d *Data) acquire(cmd wire.Request, now time.Time) wire.Vote {
	n, vote := len(cmd.Keys), wire.Vote{Outcome: wire.Granted, Replaced: true}
	var counted [wire.MaxKeys]counter
	var set []string
	for i, key := range cmd.Keys {
		vote.Replaced = d.deleteAny(key, cmd.Delete, now) && vote.Replaced
		held, expires, exists := d.Keys.Get(key, now)
		switch {
		case !exists:
			d.Keys.Put(key, cmd.Value, now.Add(cmd.TTL))
			set = append(set, key)
		case vote.Outcome == wire.Granted: // the first key in the way
			vote.Outcome, vote.Holder, vote.Remaining = wire.Refused, held, remaining(expires, now)
			if n > 1 {
				vote.InTheWay = uint8(1 + i)
			}
		}
		if cmd.Fence.On {
			counted[i] = d.count(key, cmd, now)
		}
	}
	switch {
	case vote.Outcome == wire.Refused:
		for _, key := range set {
			d.Keys.Delete(key, now)
		}
		vote.Replaced = false
	case cmd.Fence.On:
		if err := settle(&vote, counted[:n], cmd, now); err != nil {
			return wire.Vote{Err: err}
		}
	}
	return vote
}

// deleteAny deletes a key if it holds one of the values, and reports whether it did.
func (d *Data) deleteAny(key string, values []string, now time.Time) bool {
	held, _, exists := d.Keys.Get(key, now)
	return exists && slices.Contains(values, held) && d.Keys.Delete(key, now)
}

// counter is what an acquisition counted.
type counter struct {
	n    fencing.Token
	made bool // the counter didn't exist
}

// count counts a counter up. One that doesn't exist starts from the request's token, or from the clock. Its
// expiry is tied to its value, so that it starts again from a clock that has passed it.
func (d *Data) count(key string, cmd wire.Request, now time.Time) counter {
	n, expires, known := d.Counters.Get(key, now)
	if !known {
		n = d.start(key, cmd, now)
		expires = outlives(n, cmd, now)
	}
	n++
	d.Counters.Put(key, n, expires)
	return counter{n, !known}
}

// start is what a new counter is set to before it is counted up.
func (d *Data) start(key string, cmd wire.Request, now time.Time) fencing.Token {
	clock := now
	if d.Estimate != nil {
		clock = d.Estimate(key, now)
	}
	if token := cmd.Fence.Token; token > clockToken(clock.Add(-cmd.Fence.Ahead)) && bounded(cmd, token, clock) == nil {
		return token - 1
	}
	return clockToken(clock)
}

// outlives is when a counter of that value may expire.
func outlives(n fencing.Token, cmd wire.Request, now time.Time) time.Time {
	return time.UnixMicro(int64(max(n, clockToken(now)))).Add(cmd.Fence.Ahead + cmd.Fence.TTL).Truncate(time.Millisecond)
}

// settle sets the token of a vote on keys that were all set, and whether it is low. The error says that a
// counter is too far ahead.
func settle(vote *wire.Vote, counted []counter, cmd wire.Request, now time.Time) error {
	clock := clockToken(now)
	for _, c := range counted {
		if err := bounded(cmd, c.n, now); err != nil {
			return err
		}
		token := c.n
		if low := c.n <= clock && (c.made || c.n <= cmd.Fence.Floor); low {
			vote.Low, token = true, clock+1
			if start := cmd.Fence.Token; start != 0 && bounded(cmd, start, now) == nil {
				token = max(token, start)
			}
			if err := bounded(cmd, token, now); err != nil {
				return err
			}
		}
		vote.Token = max(vote.Token, token)
	}
	for _, c := range counted {
		vote.Low = vote.Low || c.n != vote.Token
	}
	return nil
}

func clockToken(now time.Time) fencing.Token { return fencing.Token(max(0, now.UnixMicro())) }

// bounded is nil if the request may raise a counter to the token.
func bounded(cmd wire.Request, token fencing.Token, now time.Time) error {
	if token > min(clockToken(now.Add(cmd.Fence.Ahead)), fencing.MaxToken) {
		return &wire.CounterError{Token: token, Clock: now, Most: cmd.Fence.Ahead}
	}
	return nil
}

// lift executes Raise, Restore and Pass.
func (d *Data) lift(cmd wire.Request, now time.Time) wire.Vote {
	restores := cmd.Op == wire.Restore
	for _, key := range cmd.Keys {
		held, _, exists := d.Keys.Get(key, now)
		if exists && held != cmd.Value || !exists && !restores {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	fenced := cmd.Fence.On || cmd.Op == wire.Raise
	if err := bounded(cmd, cmd.Fence.Token, now); fenced && err != nil {
		return wire.Vote{Unsent: restores, Err: err}
	}
	until := now.Add(cmd.TTL)
	for _, key := range cmd.Keys {
		if fenced {
			d.raise(key, cmd, now)
		}
		_, expires, exists := d.Keys.Get(key, now)
		if cmd.Op == wire.Pass || restores && (!exists || !expires.IsZero() && expires.Before(until)) {
			d.Keys.Put(key, cmd.Value, until)
		}
	}
	return wire.Vote{Outcome: wire.Granted}
}

// raise raises a counter to the request's token, and never lowers it, nor shortens its life.
func (d *Data) raise(key string, cmd wire.Request, now time.Time) {
	token, expires, known := d.Counters.Get(key, now)
	token = max(token, cmd.Fence.Token)
	if until := outlives(token, cmd, now); !known || expires.Before(until) { // also if it had no expiry
		expires = until
	}
	d.Counters.Put(key, token, expires)
}

// extend extends all keys, or none.
func (d *Data) extend(cmd wire.Request, now time.Time) wire.Vote {
	for _, key := range cmd.Keys {
		if !d.holds(key, cmd.Value, now) {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	for _, key := range cmd.Keys {
		d.Keys.Put(key, cmd.Value, now.Add(cmd.TTL))
	}
	return wire.Vote{Outcome: wire.Granted}
}

// release deletes the keys that hold the value, and notifies a waiter for each that is free then.
func (d *Data) release(cmd wire.Request, now time.Time) wire.Vote {
	vote := wire.Vote{Outcome: wire.Granted}
	for _, key := range cmd.Keys {
		if d.holds(key, cmd.Value, now) {
			d.Keys.Delete(key, now)
		} else {
			vote.Outcome = wire.Refused
		}
		if cmd.Notify {
			vote.Notified = d.notifyIfFree(key, now) || vote.Notified
		}
	}
	return vote
}

func (d *Data) holds(key, value string, now time.Time) bool {
	held, _, exists := d.Keys.Get(key, now)
	return exists && held == value
}

func (d *Data) look(cmd wire.Request, now time.Time) wire.Vote {
	vote := wire.Vote{Outcome: wire.Granted}
	if held, expires, exists := d.Keys.Get(cmd.Keys[0], now); exists {
		vote = wire.Vote{Outcome: wire.Refused, Holder: held, Remaining: remaining(expires, now)}
	}
	if cmd.Fence.On {
		vote.Token, _, _ = d.Counters.Get(cmd.Keys[0], now)
	}
	return vote
}

func wholeMs(d time.Duration) bool { return d >= time.Millisecond && d%time.Millisecond == 0 }

// needs says which fields the request of an operation needs.
var needs = map[wire.Op]struct{ key, value, waiter, ttl, counter bool }{
	wire.Acquire: {key: true, value: true, ttl: true},
	wire.Raise:   {key: true, value: true, counter: true},
	wire.Extend:  {key: true, value: true, ttl: true},
	wire.Restore: {key: true, value: true, ttl: true},
	wire.Pass:    {key: true, value: true, ttl: true},
	wire.Release: {key: true, value: true},
	wire.Look:    {key: true},
	wire.Tick:    {},
	wire.Enqueue: {key: true, waiter: true, ttl: true},
	wire.Dequeue: {key: true, waiter: true},
}

func validate(cmd wire.Request) error {
	need, known := needs[cmd.Op]
	if !known {
		return fmt.Errorf("%w: no operation has the number %d", ErrBadRequest, cmd.Op)
	}
	fence := cmd.Fence
	counts := need.counter || fence.On && (cmd.Op == wire.Acquire || cmd.Op == wire.Restore || cmd.Op == wire.Pass)
	lifts := counts && cmd.Op != wire.Acquire
	n, ascending := len(cmd.Keys), true
	for i := 1; i < n; i++ {
		ascending = ascending && cmd.Keys[i-1] < cmd.Keys[i]
	}
	wrong := ""
	switch {
	case need.key && (n == 0 || cmd.Keys[0] == ""):
		wrong = "it has no key"
	case need.value && cmd.Value == "":
		wrong = "it has no Value"
	case n > 1 && !need.value:
		wrong = "it has several keys"
	case n > wire.MaxKeys:
		wrong = fmt.Sprintf("it has %d keys, want at most %d", n, wire.MaxKeys)
	case !ascending:
		wrong = "its keys are not in ascending order"
	case need.waiter && cmd.Waiter.Address == "":
		wrong = "its Waiter has no Address"
	case need.ttl && !wholeMs(cmd.TTL):
		wrong = fmt.Sprintf("its TTL is %v, want whole milliseconds, at least one", cmd.TTL)
	case counts && !wholeMs(fence.TTL):
		wrong = fmt.Sprintf("its Fence.TTL is %v, want whole milliseconds, at least one", fence.TTL)
	case counts && (fence.Ahead < time.Microsecond || fence.Ahead%time.Microsecond != 0):
		wrong = fmt.Sprintf("its Fence.Ahead is %v, want whole microseconds, at least one", fence.Ahead)
	case (lifts || fence.Token != 0) && !fence.Token.Valid():
		wrong = fmt.Sprintf("its Fence.Token is %d, want 1 to %d", fence.Token, fencing.MaxToken)
	case counts && !lifts && fence.Floor == 0:
		wrong = "it has no Fence.Floor"
	case len(cmd.Delete) > 0 && cmd.Op != wire.Acquire:
		wrong = "it has values to delete"
	case slices.Contains(cmd.Delete, cmd.Value) && cmd.Op == wire.Acquire || slices.Contains(cmd.Delete, ""):
		wrong = "it has its own value, or none, among those to delete"
	default:
		return nil
	}
	return fmt.Errorf("%w: %v of %q: %s", ErrBadRequest, cmd.Op, cmd.Keys, wrong)
}
