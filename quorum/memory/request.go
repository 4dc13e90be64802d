package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// ErrBadRequest is the error of a request that package quorum promises never to send, such
// as one with an empty key or a TTL of a fraction of a millisecond.
var ErrBadRequest = errors.New("memory: bad request")

// Run executes a request at the time now of the server's wall clock. A request that package
// quorum never sends fails with ErrBadRequest, Unsent. Data has no run ID: see OtherRun.
func (d *Data) Run(cmd wire.Request, now time.Time) wire.Vote {
	return d.RunFor(wire.Waiter{}, cmd, now)
}

// RunFor is Run, and also executes a Notifier's Enqueue and Dequeue of a waiter, with these
// as the operation of the request.
func (d *Data) RunFor(w wire.Waiter, cmd wire.Request, now time.Time) wire.Vote {
	if err := validate(w, cmd); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	d.sweep(now)
	vote := d.vote(w, cmd, now)
	if vote.Outcome == wire.Granted && len(cmd.Also) > 0 {
		vote.Keys = uint8(1 + len(cmd.Also))
	}
	if vote.Outcome != wire.Failed && (cmd.Clock || cmd.Op == wire.Tick) {
		vote.Clock = time.UnixMicro(now.UnixMicro())
	}
	return vote
}

func (d *Data) vote(w wire.Waiter, cmd wire.Request, now time.Time) wire.Vote {
	switch cmd.Op {
	case wire.Acquire:
		return d.acquire(cmd, now)
	case wire.Raise, wire.Restore:
		return d.lift(cmd, now)
	case wire.Extend:
		return d.extend(cmd, now)
	case wire.Release:
		return d.release(cmd, now)
	case wire.Look:
		return d.look(cmd, now)
	case wire.Enqueue:
		return d.enqueue(w, now)
	case wire.Dequeue:
		return d.dequeue(w, now)
	default: // Tick: validate lets nothing else through.
		return wire.Vote{Outcome: wire.Granted}
	}
}

// keyOf returns one of the keys that a request is about: n is 0 for Key, 1 for the first of Also.
// Of several everything is read before anything is changed.
func keyOf(cmd wire.Request, n int) string {
	if n == 0 {
		return cmd.Key
	}
	return cmd.Also[n-1]
}

// acquire compares the sets before it looks at the keys. While the lock is held, a client
// with another set gets the error too, because it would wait in vain.
func (d *Data) acquire(cmd wire.Request, now time.Time) wire.Vote {
	n, vote := 1+len(cmd.Also), wire.Vote{Outcome: wire.Granted}
	refused := func(i int, why wire.Vote) wire.Vote {
		if n > 1 {
			why.InTheWay = uint8(1 + i)
		}
		why.Outcome = wire.Refused
		return why
	}
	for i := range n {
		if !cmd.Fence.On {
			break
		}
		key := keyOf(cmd, i)
		if err := d.checkSet(key, cmd.Fence.Set, now); err != nil {
			return refused(i, wire.Vote{Err: err})
		}
		vote.Token = max(vote.Token, d.next(key, cmd, now))
	}
	for i := range n {
		held, expires, exists := d.Keys.Get(keyOf(cmd, i), now)
		//guard:memory-free-key-only  a server in memory grants a lock only if its key is free, or the client's own to replace
		if exists && (cmd.Replace == "" || held != cmd.Replace) {
			return refused(i, wire.Vote{Remaining: remaining(expires, now), Holder: held})
		}
		vote.Replaced = vote.Replaced || exists
	}
	if err := bounded(cmd, vote.Token, now); err != nil {
		return wire.Vote{Unsent: true, Err: err}
	}
	if clock := clockToken(now); vote.Token < clock {
		vote.Reserved = int(min(fencing.Token(cmd.Fence.Reserve), clock-vote.Token))
		vote.Token += fencing.Token(vote.Reserved)
	}
	for i := range n {
		if cmd.Fence.On {
			d.counted(keyOf(cmd, i), cmd, vote.Token, now)
		}
		d.Keys.Put(keyOf(cmd, i), cmd.Value, now.Add(cmd.TTL))
	}
	return vote
}

// next is the token that a grant of the key alone would get.
func (d *Data) next(key string, cmd wire.Request, now time.Time) fencing.Token {
	token, _, known := d.Counters.Get(key, now)
	r, _, _ := d.Records.Get(key, now)
	//guard:memory-token-rises  in memory a grant's token is larger than the counter was
	token++
	//guard:memory-lost-counter  in memory a counter that is gone, or of another run, goes on from the clock
	if !known || cmd.Run != "" && r.Run != cmd.Run {
		// Above every token that the server gave before it lost its counter, or came back
		// with an older one: see the proof in package quorum.
		token = max(token, clockToken(now)+1)
		if start := cmd.Fence.Token; bounded(cmd, start, now) == nil {
			token = max(token, start)
		}
	}
	return token
}

// counted writes the counter of a grant, and its record.
func (d *Data) counted(key string, cmd wire.Request, token fencing.Token, now time.Time) {
	r, _, _ := d.Records.Get(key, now)
	if cmd.Run != "" {
		r.Run = cmd.Run
	}
	r.Set = cmd.Fence.Set.String()
	d.Counters.Put(key, token, now.Add(cmd.Fence.TTL))
	d.Records.Put(key, r, now.Add(cmd.Fence.TTL))
}

func clockToken(now time.Time) fencing.Token { return fencing.Token(max(0, now.UnixMicro())) }

// bounded is nil if the request may raise a counter to the token.
func bounded(cmd wire.Request, token fencing.Token, now time.Time) error {
	//guard:memory-bounded  in memory no counter gets further ahead of the clock than the client allows
	if token > min(clockToken(now.Add(cmd.Fence.Ahead)), fencing.MaxToken) {
		return &wire.CounterError{Token: token, Clock: now, Most: cmd.Fence.Ahead}
	}
	return nil
}

func (d *Data) checkSet(key string, set wire.Set, now time.Time) error {
	r, _, _ := d.Records.Get(key, now)
	//guard:memory-set-is-compared  in memory a client with another set than the last one is refused
	if r.Set == "" || r.Set == set.String() {
		return nil
	}
	if old, err := wire.ParseSet(r.Set); err == nil && set.Supersedes(old) {
		return nil
	}
	return &wire.SetMismatchError{Mine: set, Theirs: r.Set}
}

// lift executes Raise and Restore.
func (d *Data) lift(cmd wire.Request, now time.Time) wire.Vote {
	n, restores := 1+len(cmd.Also), cmd.Op == wire.Restore
	for i := range n {
		held, _, exists := d.Keys.Get(keyOf(cmd, i), now)
		//guard:memory-lift-compares  in memory a Raise or a Restore changes nothing of another holder's
		if exists && held != cmd.Value || !exists && !restores {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	fenced := cmd.Fence.On || !restores
	if err := bounded(cmd, cmd.Fence.Token, now); fenced && err != nil {
		return wire.Vote{Unsent: restores, Err: err}
	}
	for i := range n {
		key, until := keyOf(cmd, i), now.Add(cmd.TTL)
		if fenced {
			d.raise(key, cmd, now)
		}
		if _, expires, exists := d.Keys.Get(key, now); restores && (!exists || !expires.IsZero() && expires.Before(until)) {
			d.Keys.Put(key, cmd.Value, until)
		}
	}
	return wire.Vote{Outcome: wire.Granted}
}

// raise raises a counter to the request's token, and never lowers it.
//
// The record stays, except that a Restore writes its set where there is none: only Acquire
// may take a resource over for another set. Only Acquire writes the run, because the run
// says that the counter was lifted to the clock. A token from other servers doesn't prove
// that.
func (d *Data) raise(key string, cmd wire.Request, now time.Time) {
	token, _, _ := d.Counters.Get(key, now)
	//guard:memory-raise-only-lifts  in memory no request lowers a counter
	d.Counters.Put(key, max(token, cmd.Fence.Token), now.Add(cmd.Fence.TTL))
	r, _, known := d.Records.Get(key, now)
	if cmd.Op == wire.Restore && r.Set == "" && cmd.Fence.Set != (wire.Set{}) {
		r.Set, known = cmd.Fence.Set.String(), true
	}
	if known {
		d.Records.Put(key, r, now.Add(cmd.Fence.TTL))
	}
}

// extend extends all keys, or none.
func (d *Data) extend(cmd wire.Request, now time.Time) wire.Vote {
	n := 1 + len(cmd.Also)
	for i := range n {
		if !d.holds(keyOf(cmd, i), cmd.Value, now) {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	for i := range n {
		d.Keys.Put(keyOf(cmd, i), cmd.Value, now.Add(cmd.TTL))
	}
	return wire.Vote{Outcome: wire.Granted}
}

// release deletes the keys that hold the value, and notifies a waiter for each that is free then.
func (d *Data) release(cmd wire.Request, now time.Time) wire.Vote {
	vote := wire.Vote{Outcome: wire.Granted}
	for i := range 1 + len(cmd.Also) {
		key := keyOf(cmd, i)
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
	//guard:memory-compares  in memory nobody extends or deletes another holder's key
	return exists && held == value
}

func (d *Data) look(cmd wire.Request, now time.Time) wire.Vote {
	vote := wire.Vote{Outcome: wire.Granted}
	if held, expires, exists := d.Keys.Get(cmd.Key, now); exists {
		vote = wire.Vote{Outcome: wire.Refused, Holder: held, Remaining: remaining(expires, now)}
	}
	if cmd.Fence.On {
		vote.Token, _, _ = d.Counters.Get(cmd.Key, now)
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
	wire.Release: {key: true, value: true},
	wire.Look:    {key: true},
	wire.Tick:    {},
	wire.Enqueue: {key: true, waiter: true, ttl: true},
	wire.Dequeue: {key: true, waiter: true},
}

func validate(w wire.Waiter, cmd wire.Request) error {
	need, known := needs[cmd.Op]
	if !known {
		return fmt.Errorf("%w: no operation has the number %d", ErrBadRequest, cmd.Op)
	}
	fence, ttl := cmd.Fence, cmd.TTL
	if cmd.Op == wire.Enqueue {
		ttl = w.TTL
	}
	counts := need.counter || fence.On && (cmd.Op == wire.Acquire || cmd.Op == wire.Restore)
	lifts := counts && cmd.Op != wire.Acquire
	several, ascending := len(cmd.Also) > 0, true
	for i := range cmd.Also {
		ascending = ascending && keyOf(cmd, i) < cmd.Also[i]
	}
	wrong := ""
	switch {
	case need.key && cmd.Key == "":
		wrong = "it has no Key"
	case need.value && cmd.Value == "":
		wrong = "it has no Value"
	case several && !need.value:
		wrong = "it has several keys"
	case len(cmd.Also) >= wire.MaxKeys:
		wrong = fmt.Sprintf("it has %d keys, want at most %d", 1+len(cmd.Also), wire.MaxKeys)
	case !ascending:
		wrong = "its keys are not in ascending order"
	case need.waiter && w.Address == "":
		wrong = "its Waiter has no Address"
	case need.ttl && !wholeMs(ttl):
		wrong = fmt.Sprintf("its TTL is %v, want whole milliseconds, at least one", ttl)
	case counts && !wholeMs(fence.TTL):
		wrong = fmt.Sprintf("its Fence.TTL is %v, want whole milliseconds, at least one", fence.TTL)
	case counts && (fence.Ahead < time.Microsecond || fence.Ahead%time.Microsecond != 0):
		wrong = fmt.Sprintf("its Fence.Ahead is %v, want whole microseconds, at least one", fence.Ahead)
	case (lifts || fence.Token != 0) && !fence.Token.Valid():
		wrong = fmt.Sprintf("its Fence.Token is %d, want 1 to %d", fence.Token, fencing.MaxToken)
	case fence.Reserve < 0 || fence.Reserve > 0 && (cmd.Op != wire.Acquire || !fence.On || several):
		wrong = fmt.Sprintf("its Fence.Reserve is %d, want zero or more, and zero without a counter and for several keys", fence.Reserve)
	default:
		return nil
	}
	return fmt.Errorf("%w: %v of %q: %s", ErrBadRequest, cmd.Op, cmd.Key, wrong)
}
