package quorumtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// ErrBadRequest is the error of a request that package quorum promises never to send, such
// as one with an empty key or a TTL of a fraction of a millisecond.
var ErrBadRequest = errors.New("quorumtest: bad request")

// Run executes a request at the time now of the server's wall clock. A request that package
// quorum never sends fails with ErrBadRequest, Unsent. Data has no run ID: see OtherRun.
func (d *Data) Run(cmd wire.Request, now time.Time) wire.Vote {
	return d.RunFor(wire.Waiter{}, cmd, now)
}

// RunFor is Run, and also executes a Notifier's Enqueue and Dequeue of a waiter, with these
// as the operation of the request.
func (d *Data) RunFor(w wire.Waiter, cmd wire.Request, now time.Time) wire.Vote {
	vote := d.outcome(w, cmd, now)
	if vote.Outcome != wire.Failed && (cmd.Clock || cmd.Op == wire.Tick) {
		vote.Clock = time.UnixMicro(now.UnixMicro())
	}
	return vote
}

func (d *Data) outcome(w wire.Waiter, cmd wire.Request, now time.Time) wire.Vote {
	if err := validate(w, cmd); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	if len(cmd.Also) > 0 {
		vote := d.several(cmd, now)
		if vote.Outcome == wire.Granted {
			vote.Keys = uint8(1 + len(cmd.Also))
		}
		return vote
	}
	held, expires, exists := d.Keys.Get(cmd.Key, now)
	mine := exists && held == cmd.Value
	refused := wire.Vote{Outcome: wire.Refused}
	granted := wire.Vote{Outcome: wire.Granted}

	switch cmd.Op {
	case wire.Acquire:
		return d.acquire(cmd, now)

	case wire.Raise:
		if !mine {
			return refused
		}
		if err := d.lift(cmd, now); err != nil {
			return wire.Vote{Err: err}
		}
		return granted

	case wire.Extend:
		if !mine {
			return refused
		}
		d.Keys.Put(cmd.Key, cmd.Value, now.Add(cmd.TTL))
		return granted

	case wire.Restore:
		if exists && !mine {
			return refused
		}
		if cmd.Fence.On {
			if err := d.lift(cmd, now); err != nil {
				return wire.Vote{Unsent: true, Err: err}
			}
		}
		if !exists {
			d.Keys.Put(cmd.Key, cmd.Value, now.Add(cmd.TTL))
		}
		return granted

	case wire.Release:
		vote := refused
		if mine {
			d.Keys.Delete(cmd.Key, now)
			vote = granted
		}
		if cmd.Notify && (mine || !exists) {
			vote.Notified = d.notifyNext(cmd.Key, now)
		}
		return vote

	case wire.Look:
		vote := granted
		if exists {
			vote = wire.Vote{Outcome: wire.Refused, Holder: held, Remaining: remaining(expires, now)}
		}
		if cmd.Fence.On {
			vote.Token, _, _ = d.Counters.Get(cmd.Key, now)
		}
		return vote

	case wire.Enqueue:
		if !exists && !w.Yield {
			return refused
		}
		d.enqueue(w, now)
		return granted

	case wire.Dequeue:
		if d.dequeue(w, now) {
			return granted
		}
		refused.Notified = !exists && d.notifyNext(w.Key, now)
		return refused

	default: // Tick: validate lets nothing else through.
		return granted
	}
}

// acquire compares the set before it looks at the key. While the lock is held, a client
// with another set gets the error too, because it would wait in vain.
func (d *Data) acquire(cmd wire.Request, now time.Time) wire.Vote {
	if cmd.Fence.On {
		if err := d.checkSet(cmd, now); err != nil {
			return wire.Vote{Outcome: wire.Refused, Err: err}
		}
	}
	held, expires, exists := d.Keys.Get(cmd.Key, now)
	usual := exists && d.Usual(cmd, now)
	if usual {
		d.spill(cmd, now)
	}
	replaces := exists && cmd.Replace != "" && held == cmd.Replace
	if exists && !replaces {
		vote := wire.Vote{Outcome: wire.Refused, Remaining: remaining(expires, now), Holder: held}
		if bare := !cmd.Fence.On && cmd.Run == "" && cmd.Replace == ""; usual || bare {
			vote.Holder = "" // only a script reads it
		}
		return vote
	}
	vote := wire.Vote{Outcome: wire.Granted, Replaced: replaces}
	if cmd.Fence.On {
		var err error
		if vote.Token, vote.Reserved, err = d.count(cmd, now); err != nil {
			return wire.Vote{Unsent: true, Err: err}
		}
	}
	d.Keys.Put(cmd.Key, cmd.Value, now.Add(cmd.TTL))
	return vote
}

// Usual reports whether package instance may ask for a lock by a transaction (see its
// transaction.go), whose writes don't depend on what the server finds. A Server and the
// simulated servers then do the same, as the worst case: where the lock is held or the server
// is in another run, the counter rises or is made for nothing, and in another run the key is
// set.
func (d *Data) Usual(cmd wire.Request, now time.Time) bool {
	r, _, _ := d.Records.Get(cmd.Key, now)
	return plain(cmd) && (!cmd.Fence.On || r.Set == cmd.Fence.Set.String() && r.Run == cmd.Run) || d.Makes(cmd, now)
}

// plain reports whether a request is of the kind that a transaction can ask for.
func plain(cmd wire.Request) bool {
	return cmd.Op == wire.Acquire && cmd.Run != "" && cmd.Replace == "" && cmd.Fence.Reserve == 0 && len(cmd.Also) == 0
}

// Makes reports whether a transaction may make the lock's counter (start.go in package
// instance), and a record beside it that is Unvouched. Run does so only where that is for nothing:
// a counter that it grants from has a record with the run, as a script writes it.
func (d *Data) Makes(cmd wire.Request, now time.Time) bool {
	_, _, counted := d.Counters.Get(cmd.Key, now)
	_, _, recorded := d.Records.Get(cmd.Key, now)
	return plain(cmd) && cmd.Fence.On && cmd.Fence.Token > 0 && !counted && !recorded
}

// Spill executes on a server in another run what a transaction does there. It reports
// whether it has set the key.
func (d *Data) Spill(cmd wire.Request, now time.Time) (set bool) {
	if !d.Usual(cmd, now) {
		return false
	}
	d.spill(cmd, now)
	if _, _, exists := d.Keys.Get(cmd.Key, now); exists {
		return false
	}
	d.Keys.Put(cmd.Key, cmd.Value, now.Add(cmd.TTL))
	return true
}

// spill counts for nothing, or makes a counter. One that was lost stays lost otherwise: package
// instance knows it by its few digits.
func (d *Data) spill(cmd wire.Request, now time.Time) {
	if d.Makes(cmd, now) {
		d.Counters.Put(cmd.Key, cmd.Fence.Token, now.Add(cmd.Fence.TTL))
		d.Records.Put(cmd.Key, Record{Set: cmd.Fence.Set.String(), Run: Unvouched}, now.Add(cmd.Fence.TTL))
		return
	}
	if token, expires, known := d.Counters.Get(cmd.Key, now); known && cmd.Fence.On {
		d.Counters.Put(cmd.Key, token+1, expires)
	}
}

// count raises the counter for a grant, and returns how many tokens it reserved.
func (d *Data) count(cmd wire.Request, now time.Time) (token fencing.Token, reserved int, err error) {
	token = d.next(cmd, now)
	clock := fencing.Token(max(0, now.UnixMicro()))
	if token > most(cmd, now) {
		return 0, 0, &wire.CounterError{Token: token, Clock: now, Most: cmd.Fence.Ahead}
	}
	if token < clock {
		reserved = int(min(fencing.Token(cmd.Fence.Reserve), clock-token))
	}
	token += fencing.Token(reserved)
	d.counted(cmd, token, now)
	return token, reserved, nil
}

// next is the next token of the counter.
func (d *Data) next(cmd wire.Request, now time.Time) fencing.Token {
	token, _, known := d.Counters.Get(cmd.Key, now)
	r, _, _ := d.Records.Get(cmd.Key, now)
	clock := fencing.Token(max(0, now.UnixMicro()))
	token++
	if !known || cmd.Run != "" && r.Run != cmd.Run || r.Run == Unvouched {
		// Above every token that the server gave before it lost its counter, or came back
		// with an older one: see the proof in package quorum.
		token = max(token, clock+1)
		if start := cmd.Fence.Token; start <= most(cmd, now) {
			token = max(token, start)
		}
	}
	return token
}

// counted writes the counter of a grant, and its record.
func (d *Data) counted(cmd wire.Request, token fencing.Token, now time.Time) {
	r, _, _ := d.Records.Get(cmd.Key, now)
	if cmd.Run != "" || r.Run == Unvouched {
		r.Run = cmd.Run
	}
	r.Set = cmd.Fence.Set.String()
	d.Counters.Put(cmd.Key, token, now.Add(cmd.Fence.TTL))
	d.Records.Put(cmd.Key, r, now.Add(cmd.Fence.TTL))
}

// most is the largest value that the counter may be raised to.
func most(cmd wire.Request, now time.Time) fencing.Token {
	return min(fencing.Token(max(0, now.Add(cmd.Fence.Ahead).UnixMicro())), fencing.MaxToken)
}

func (d *Data) checkSet(cmd wire.Request, now time.Time) error {
	r, _, _ := d.Records.Get(cmd.Key, now)
	if r.Set == "" || r.Set == cmd.Fence.Set.String() {
		return nil
	}
	if old, err := wire.ParseSet(r.Set); err == nil && cmd.Fence.Set.Supersedes(old) {
		return nil
	}
	return &wire.SetMismatchError{Mine: cmd.Fence.Set, Theirs: r.Set}
}

// lift raises the counter to the request's token. It never lowers the counter, and fails if
// the token is further ahead of the clock than the request allows.
//
// The record stays, except that a Restore writes its set where there is none: only Acquire
// may take a resource over for another set. Only Acquire writes the run, because the run
// says that the counter was lifted to the clock. A token from other servers doesn't prove
// that.
func (d *Data) lift(cmd wire.Request, now time.Time) error {
	if err := liftable(cmd, now); err != nil {
		return err
	}
	token, _, _ := d.Counters.Get(cmd.Key, now)
	d.Counters.Put(cmd.Key, max(token, cmd.Fence.Token), now.Add(cmd.Fence.TTL))
	r, _, known := d.Records.Get(cmd.Key, now)
	if cmd.Op == wire.Restore && r.Set == "" && cmd.Fence.Set != (wire.Set{}) {
		r.Set, known = cmd.Fence.Set.String(), true
	}
	if known {
		d.Records.Put(cmd.Key, r, now.Add(cmd.Fence.TTL))
	}
	return nil
}

// liftable is nil if a counter may settle the request's token, whatever it is now.
func liftable(cmd wire.Request, now time.Time) error {
	if cmd.Fence.Token > most(cmd, now) {
		return &wire.CounterError{Token: cmd.Fence.Token, Clock: now, Most: cmd.Fence.Ahead}
	}
	return nil
}

func wholeMs(d time.Duration) bool { return d >= time.Millisecond && d%time.Millisecond == 0 }

func validate(w wire.Waiter, cmd wire.Request) error {
	var keyed, valued, timed, counted, tokened bool
	ttl := cmd.TTL
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
	case wire.Look, wire.Dequeue:
		keyed = true
	case wire.Enqueue:
		keyed, timed, ttl = true, true, w.TTL
	case wire.Tick:
	default:
		return fmt.Errorf("%w: no operation has the number %d", ErrBadRequest, cmd.Op)
	}
	wrong := ""
	last := cmd.Key
	for _, key := range cmd.Also {
		if key <= last {
			wrong = "its keys are not in ascending order"
		}
		last = key
	}
	switch {
	case wrong != "":
	case len(cmd.Also) > 0 && !valued:
		wrong = "it has several keys"
	case len(cmd.Also) >= wire.MaxKeys:
		wrong = fmt.Sprintf("it has %d keys, want at most %d", 1+len(cmd.Also), wire.MaxKeys)
	case len(cmd.Also) > 0 && cmd.Fence.Reserve > 0:
		wrong = "it reserves tokens for a lease on several keys"
	case keyed && cmd.Key == "":
		wrong = "it has no Key"
	case valued && cmd.Value == "":
		wrong = "it has no Value"
	case (cmd.Op == wire.Enqueue || cmd.Op == wire.Dequeue) && w.Address == "":
		wrong = "its Waiter has no Address"
	case timed && !wholeMs(ttl):
		wrong = fmt.Sprintf("its TTL is %v, want whole milliseconds, at least one", ttl)
	case counted && !wholeMs(cmd.Fence.TTL):
		wrong = fmt.Sprintf("its Fence.TTL is %v, want whole milliseconds, at least one", cmd.Fence.TTL)
	case counted && (cmd.Fence.Ahead < time.Microsecond || cmd.Fence.Ahead%time.Microsecond != 0):
		wrong = fmt.Sprintf("its Fence.Ahead is %v, want whole microseconds, at least one", cmd.Fence.Ahead)
	case (tokened || cmd.Fence.Token != 0) && !cmd.Fence.Token.Valid():
		wrong = fmt.Sprintf("its Fence.Token is %d, want 1 to %d", cmd.Fence.Token, fencing.MaxToken)
	case cmd.Fence.Reserve < 0 || cmd.Fence.Reserve > 0 && (cmd.Op != wire.Acquire || !cmd.Fence.On):
		wrong = fmt.Sprintf("its Fence.Reserve is %d, want zero or more, and zero without a counter", cmd.Fence.Reserve)
	default:
		return nil
	}
	return fmt.Errorf("%w: %v of %q: %s", ErrBadRequest, cmd.Op, cmd.Key, wrong)
}
