package quorumtest

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
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

// Get returns a key's value and its remaining time (wire.NoExpiry without an expiry), and
// whether it exists.
func (s *Server) Get(key string) (value string, left time.Duration, ok bool) {
	now := s.lock()
	defer s.mu.Unlock()
	value, expires, ok := s.data.Keys.Get(key, now)
	if ok {
		left = remaining(expires, now)
	}
	return value, left, ok
}

// Keys lists the keys that exist, sorted. Counters are not among them.
func (s *Server) Keys() []string {
	now := s.lock()
	defer s.mu.Unlock()
	return s.data.Keys.List(now)
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
	now := s.lock()
	defer s.mu.Unlock()
	s.data.Keys.Delete(key, now)
}

// DeleteCounter deletes a resource's counter and its record, as an operator does to repair
// it.
func (s *Server) DeleteCounter(key string) {
	now := s.lock()
	defer s.mu.Unlock()
	s.data.Counters.Delete(key, now)
	s.data.Records.Delete(key, now)
}

// FlushAll deletes all keys and counters, and the mark.
func (s *Server) FlushAll() {
	s.lock()
	defer s.mu.Unlock()
	s.clear()
}

// Counter returns a resource's counter, 0 if there is none.
func (s *Server) Counter(key string) fencing.Token {
	now := s.lock()
	defer s.mu.Unlock()
	token, _, _ := s.data.Counters.Get(key, now)
	return token
}

// PutCounter sets a resource's counter and the text of the set under which it was last
// locked ("" for none), for a day. The record names the server's present run, so a client
// that knows the run counts on from there.
func (s *Server) PutCounter(key string, token fencing.Token, set string) {
	now := s.lock()
	defer s.mu.Unlock()
	until := now.Add(24 * time.Hour)
	s.data.Counters.Put(key, token, until)
	s.data.Records.Put(key, Record{set, s.identity(now).Run()}, until)
}

// Record returns what is stored beside a resource's counter, zero if there is nothing.
func (s *Server) Record(key string) Record {
	now := s.lock()
	defer s.mu.Unlock()
	r, _, _ := s.data.Records.Get(key, now)
	return r
}

// PutRun sets the run in a resource's record, see contract.Putter. Without a record it does
// nothing.
func (s *Server) PutRun(key string, run wire.Run) {
	now := s.lock()
	defer s.mu.Unlock()
	if r, expires, ok := s.data.Records.Get(key, now); ok {
		s.data.Records.Put(key, Record{r.Set, run}, expires)
	}
}

// Waiting lists the addresses in the wait queue of a key, the first one first.
func (s *Server) Waiting(key string) []string {
	now := s.lock()
	defer s.mu.Unlock()
	return s.data.Waiting(key, now)
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
	s.lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Clock returns the server's wall clock.
func (s *Server) Clock() time.Time {
	defer s.mu.Unlock()
	return s.lock()
}

// RunID returns the server's run ID.
func (s *Server) RunID() string {
	s.lock()
	defer s.mu.Unlock()
	return s.runID
}

// PresentRun returns the server's present run, as Probe tells it.
func (s *Server) PresentRun() wire.Run {
	now := s.lock()
	defer s.mu.Unlock()
	return s.identity(now).Run()
}
