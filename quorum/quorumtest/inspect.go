package quorumtest

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// What follows reaches past the network into the server: it works whether the
// server is hung, down or refuses, and isn't in its log.

// now carries out what is due and gives the server's wall clock. s.mu is held.
func (s *Server) now() time.Time {
	now := s.clock.Now()
	s.advance(now)
	return now.Add(s.offset)
}

// Get gives a key's value and its remaining time (quorum.NoExpiry if it lives
// for ever), and whether it exists.
func (s *Server) Get(key string) (value string, remaining time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	e, ok := s.data.key(key, now)
	if !ok {
		return "", 0, false
	}
	return e.value, e.remaining(now), true
}

// Keys lists the keys that exist, sorted; counters are not among them.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.live(s.now())
}

// Put sets a key as somebody else would: with a time to live, or for ever if it
// is quorum.NoExpiry. No counter is touched.
func (s *Server) Put(key, value string, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := entry{value: value}
	if now := s.now(); ttl != wire.NoExpiry {
		e.expires = now.Add(ttl)
	}
	s.data.keys[key] = e
}

// Delete deletes a key, and leaves the resource's counter.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now()
	delete(s.data.keys, key)
}

// DeleteCounter deletes a resource's counter and its set's text, as an operator does who
// repairs it.
func (s *Server) DeleteCounter(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data.counters, key)
	delete(s.data.records, key)
}

// FlushAll deletes all keys and counters, and the mark.
func (s *Server) FlushAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now()
	s.clear()
}

// Counter gives a resource's counter, 0 if there is none.
func (s *Server) Counter(key string) fencing.Token {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _ := s.data.counter(key, s.now())
	return c.token
}

// PutCounter sets a resource's counter and the text of the set under which it
// was last locked ("" for none), for a day. The counter is one of the server's present
// run, as Probe tells it: a client that knows the run goes on from there.
func (s *Server) PutCounter(key string, token fencing.Token, set string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	until := now.Add(24 * time.Hour)
	s.data.counters[key] = counter{token, until}
	s.data.records[key] = record{set, s.identity(now).Run(), until}
}

// Fingerprint gives the text of the set under which a resource was last locked,
// "" if there is none.
func (s *Server) Fingerprint(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, _ := s.data.record(key, s.now())
	return r.set
}

// Run gives the run in which a resource's counter was last granted from (a Command's
// Run), "" if none is known.
func (s *Server) Run(key string) wire.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, _ := s.data.record(key, s.now())
	return r.run
}

// PutRun writes into a resource's record that its counter was last granted from in
// that run, see Putter.
func (s *Server) PutRun(key string, run wire.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if r, ok := s.data.record(key, now); ok {
		r.run = run
		s.data.records[key] = r
	}
}

// Waiting lists the addresses in the wait queue of a key, the first one first.
func (s *Server) Waiting(key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.data.queue(key, s.now()).waiters)
}

// Subscriptions returns how many Subscriptions are open, and how many were ever opened.
func (s *Server) Subscriptions() (open, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subscriptions), s.subscribed
}

// Log gives what the server has carried out, oldest first: all of it, or at
// least the last 65536 commands.
func (s *Server) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now()
	return slices.Clone(s.log)
}

// Ops gives the operations of Log.
func (s *Server) Ops() []wire.Op {
	log := s.Log()
	ops := make([]wire.Op, len(log))
	for i, e := range log {
		ops[i] = e.Request.Op
	}
	return ops
}

// Clock gives the server's wall clock.
func (s *Server) Clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// RunID names the server's process.
func (s *Server) RunID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runID
}

// PresentRun is the run that the server is in, by which a Command names it, as the last
// Probe told it.
func (s *Server) PresentRun() wire.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity(s.now()).Run()
}

// ReplID is the server's replication ID.
func (s *Server) ReplID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replID
}
