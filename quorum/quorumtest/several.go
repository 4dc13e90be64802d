package quorumtest

import (
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// each returns a request for each of the keys that a request is about.
func each(cmd wire.Request) []wire.Request {
	all := make([]wire.Request, 1+len(cmd.Also))
	for i := range all {
		all[i] = cmd
		all[i].Also = nil
		if i > 0 {
			all[i].Key = cmd.Also[i-1]
		}
	}
	return all
}

// several executes a request about several keys in one step.
func (d *Data) several(cmd wire.Request, now time.Time) wire.Vote {
	keys := each(cmd)
	switch cmd.Op {
	case wire.Acquire:
		return d.acquireAll(keys, now)
	case wire.Raise, wire.Restore:
		return d.liftAll(keys, now)
	}
	// Extend and Release. An extension is of all keys or none; a release deletes those that are there.
	vote := wire.Vote{Outcome: wire.Granted}
	for _, one := range keys {
		if held, _, exists := d.Keys.Get(one.Key, now); cmd.Op == wire.Extend && (!exists || held != one.Value) {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	for _, one := range keys {
		each := d.outcome(wire.Waiter{}, one, now)
		if each.Outcome != wire.Granted {
			vote.Outcome = wire.Refused
		}
		vote.Notified = vote.Notified || each.Notified
	}
	return vote
}

// acquireAll looks at everything before it changes anything.
func (d *Data) acquireAll(keys []wire.Request, now time.Time) wire.Vote {
	vote := wire.Vote{Outcome: wire.Granted}
	for i, one := range keys {
		if !one.Fence.On {
			break
		}
		if err := d.checkSet(one, now); err != nil {
			return wire.Vote{Outcome: wire.Refused, InTheWay: uint8(1 + i), Err: err}
		}
		vote.Token = max(vote.Token, d.next(one, now))
	}
	for i, one := range keys {
		held, expires, exists := d.Keys.Get(one.Key, now)
		if exists && (one.Replace == "" || held != one.Replace) {
			return wire.Vote{Outcome: wire.Refused, InTheWay: uint8(1 + i), Remaining: remaining(expires, now), Holder: held}
		}
		vote.Replaced = vote.Replaced || exists
	}
	if one := keys[0]; one.Fence.On && vote.Token > most(one, now) {
		return wire.Vote{Unsent: true, Err: &wire.CounterError{Token: vote.Token, Clock: now, Most: one.Fence.Ahead}}
	}
	for _, one := range keys {
		if one.Fence.On {
			d.counted(one, vote.Token, now)
		}
		d.Keys.Put(one.Key, one.Value, now.Add(one.TTL))
	}
	return vote
}

// liftAll executes Raise and Restore.
func (d *Data) liftAll(keys []wire.Request, now time.Time) wire.Vote {
	restores := keys[0].Op == wire.Restore
	for _, one := range keys {
		held, _, exists := d.Keys.Get(one.Key, now)
		if exists && held != one.Value || !exists && !restores {
			return wire.Vote{Outcome: wire.Refused}
		}
	}
	for _, one := range keys {
		if err := liftable(one, now); one.Fence.On && err != nil {
			return wire.Vote{Unsent: restores, Err: err}
		}
	}
	for _, one := range keys {
		if one.Fence.On {
			_ = d.lift(one, now) // it is liftable
		}
		if _, expires, exists := d.Keys.Get(one.Key, now); restores && (!exists || !expires.IsZero() && expires.Before(now.Add(one.TTL))) {
			d.Keys.Put(one.Key, one.Value, now.Add(one.TTL))
		}
	}
	return wire.Vote{Outcome: wire.Granted}
}
