package quorumtest

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// The methods in this file don't use the network. They work while the server hangs, is down
// or refuses connections, and they aren't in its log.

// lock locks s.mu, executes what is due, and returns the server's wall clock.
func (s *Server) lock() time.Time {
	s.mu.Lock()
	now := s.clock.Now()
	s.advance(now)
	return now.Add(s.offset)
}

// in calls f with the server's data and wall clock, once what is due is executed.
func in[T any](s *Server, f func(d *memory.Data, now time.Time) T) T {
	now := s.lock()
	defer s.mu.Unlock()
	return f(s.data, now)
}

// Get returns a key's value and its remaining time (wire.NoExpiry without an expiry), and
// whether it exists.
func (s *Server) Get(key string) (value string, left time.Duration, ok bool) {
	vote := in(s, func(d *memory.Data, now time.Time) wire.Vote {
		return d.Run(wire.Request{Op: wire.Look, Keys: []string{key}}, now)
	})
	return vote.Holder, vote.Remaining, vote.Outcome == wire.Refused
}

// Keys lists the keys that exist, sorted. Counters are not among them.
func (s *Server) Keys() []string {
	return in(s, func(d *memory.Data, now time.Time) []string { return d.Keys.List(now) })
}

// Put sets a key without a request, with a TTL or without expiry (wire.NoExpiry). The
// counter stays.
func (s *Server) Put(key, value string, ttl time.Duration) {
	now := s.lock()
	defer s.mu.Unlock()
	expires := time.Time{}
	if ttl != wire.NoExpiry {
		expires = now.Add(ttl)
	}
	s.data.Keys.Put(key, value, expires)
}

// Delete deletes a key. The resource's counter stays.
func (s *Server) Delete(key string) {
	in(s, func(d *memory.Data, now time.Time) bool { return d.Keys.Delete(key, now) })
}

// DeleteCounter deletes a resource's counter, as an operator does to repair it.
func (s *Server) DeleteCounter(key string) {
	in(s, func(d *memory.Data, now time.Time) bool { return d.Counters.Delete(key, now) })
}

// FlushAll deletes all keys and counters, and the mark.
func (s *Server) FlushAll() {
	s.lock()
	defer s.mu.Unlock()
	s.clear()
}

// Counter returns a resource's counter, 0 if there is none.
func (s *Server) Counter(key string) fencing.Token {
	return in(s, func(d *memory.Data, now time.Time) fencing.Token {
		token, _, _ := d.Counters.Get(key, now)
		return token
	})
}

// PutCounter sets a resource's counter, for a day.
func (s *Server) PutCounter(key string, token fencing.Token) {
	now := s.lock()
	defer s.mu.Unlock()
	s.data.Counters.Put(key, token, now.Add(24*time.Hour))
}

// PutSet sets the set of instances in the mark, as other clients' probes do.
func (s *Server) PutSet(set wire.Set) {
	now := s.lock()
	defer s.mu.Unlock()
	id := s.identity(now)
	since := id.Mark.Since()
	if since.IsZero() {
		since = now
	}
	s.mark = memory.NewMark(id, since, set.String())
}

// Waiting lists the addresses in the wait queue of a key, the first one first.
func (s *Server) Waiting(key string) []string {
	return in(s, func(d *memory.Data, now time.Time) []string { return d.Waiting(key, now) })
}

// Subscriptions returns how many Subscriptions are open, and how many were ever opened.
func (s *Server) Subscriptions() (open, ever int) {
	s.lock()
	defer s.mu.Unlock()
	return len(s.subscriptions), s.subscribed
}

// Log returns the requests that the server has executed, oldest first: all of them, or at
// least the last 65536.
func (s *Server) Log() []Entry {
	return in(s, func(*memory.Data, time.Time) []Entry { return slices.Clone(s.log) })
}

// Clock returns the server's wall clock.
func (s *Server) Clock() time.Time {
	return in(s, func(_ *memory.Data, now time.Time) time.Time { return now })
}

// RunID returns the server's run ID.
func (s *Server) RunID() string {
	return in(s, func(*memory.Data, time.Time) string { return s.runID })
}

// PresentRun returns the server's present run, as Probe tells it.
func (s *Server) PresentRun() wire.Run {
	return in(s, func(_ *memory.Data, now time.Time) wire.Run { return s.identity(now).Run() })
}
