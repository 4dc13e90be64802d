package quorumtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// queue is the wait queue of a key: the addresses of the processes that wait for it.
type queue struct {
	waiters []string
	expires time.Time
}

// queue returns the wait queue of a key at now.
func (s *store) queue(key string, now time.Time) queue {
	q, ok := s.queues[key]
	if ok && (len(q.waiters) == 0 || expired(q.expires, now)) {
		delete(s.queues, key)
		return queue{}
	}
	return q
}

func (s *store) enqueue(w wire.Waiter, now time.Time) wire.Vote {
	if err := validateWaiter(wire.Enqueue, w); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	if _, held := s.key(w.Key, now); !held && !w.Yield {
		return wire.Vote{Outcome: wire.Refused}
	}
	q := s.queue(w.Key, now)
	switch {
	case slices.Contains(q.waiters, w.Address):
	case w.Front:
		q.waiters = slices.Insert(q.waiters, 0, w.Address)
	default:
		q.waiters = append(q.waiters, w.Address)
	}
	q.expires = now.Add(w.TTL)
	s.queues[w.Key] = q
	return wire.Vote{Outcome: wire.Granted}
}

func (s *store) dequeue(w wire.Waiter, now time.Time) wire.Vote {
	if err := validateWaiter(wire.Dequeue, w); err != nil {
		return wire.Vote{Err: err, Unsent: true}
	}
	q := s.queue(w.Key, now)
	if at := slices.Index(q.waiters, w.Address); at >= 0 {
		q.waiters = slices.Delete(q.waiters, at, at+1)
		s.queues[w.Key] = q
		return wire.Vote{Outcome: wire.Granted}
	}
	vote := wire.Vote{Outcome: wire.Refused}
	if _, held := s.key(w.Key, now); !held {
		vote.Notified = s.notifyNext(w.Key, now)
	}
	return vote
}

// notifyNext notifies the first process in the queue that has a subscription, and takes it
// and those before it out.
func (s *store) notifyNext(key string, now time.Time) bool {
	for {
		q := s.queue(key, now)
		if len(q.waiters) == 0 {
			return false
		}
		first := q.waiters[0]
		q.waiters = q.waiters[1:]
		s.queues[key] = q
		if s.notify != nil && s.notify(first, key) {
			return true
		}
	}
}

// carryOut carries out a request, or Enqueue or Dequeue for a waiter.
func (s *store) carryOut(cmd wire.Request, w wire.Waiter, now time.Time) wire.Vote {
	var vote wire.Vote
	switch cmd.Op {
	case wire.Enqueue:
		vote = s.enqueue(w, now)
	case wire.Dequeue:
		vote = s.dequeue(w, now)
	default:
		return s.run(cmd, now)
	}
	return withClock(vote, cmd, now)
}

func validateWaiter(op wire.Op, w wire.Waiter) error {
	switch {
	case w.Key == "":
		return fmt.Errorf("%w: %v without a Key", ErrBadCommand, op)
	case w.Address == "":
		return fmt.Errorf("%w: %v for %q without an Address", ErrBadCommand, op, w.Key)
	case op == wire.Enqueue && !wholeMs(w.TTL):
		return fmt.Errorf("%w: %v for %q has the TTL %v, want whole milliseconds, at least one", ErrBadCommand, op, w.Key, w.TTL)
	}
	return nil
}
