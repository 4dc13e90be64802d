//go:build unix

package live

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Cases returns the live forms of all scenarios that have one, in the scenarios' order.
func Cases() []Case {
	return []Case{
		{
			Scenario: "S1", Form: "SIGSTOP", Fault: "c1's process is stopped between its check of the lease and its write, and continued when c2 has written",
			Variants: variants("setpx-cad", "redlock", "default", "token-admit"),
		},
		{
			Scenario: "S1", Form: "stopped world", Fault: "c1's Go runtime stops its world there, for a heap dump to a pipe without a reader",
			Freeze: true, Variants: variants("default", "token-admit"),
		},
		{
			Scenario: "S1", Form: "Redis row", Fault: "as the first; the resource is a row in Redis, behind fencing/redisguard",
			Row: true, Variants: variants("default", "token-admit"),
		},
		{
			Scenario: "S2", Fault: "a proxy keeps c1's write until c2 has had the lock and written",
			Variants: variants("setpx-cad", "default", "token-admit"), script: delayedWrite,
		},
		{
			Scenario: "S2", Form: "Redis row", Fault: "the same, with a row in Redis",
			Row: true, Variants: variants("default", "token-admit"), script: delayedWrite,
		},
		{
			Scenario: "S3", Fault: "a proxy keeps the replies to c1's SETs and c1's process is stopped, until c2 has the lock",
			Variants: []variant{{Design: "setpx-cad", Timeout: patience}, {Design: "redlock", Timeout: 600 * time.Millisecond}, {Design: "default", Timeout: 600 * time.Millisecond}}, script: stoppedBeforeReplies,
		},
		{
			Scenario: "S4", Fault: "the clock of the redis-server C, which c1's lease needs, jumps beyond the TTL",
			Machine: true, TTL: longTTL, Variants: variants("setpx-cad", "redlock", "default"),
		},
		{
			Scenario: "S4b", Fault: "kill -9 of the holder; the clocks of C, D and E are set back",
			Machine: true, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S4c", Fault: "c1's lease is on all five; the clocks of three jump beyond the TTL",
			Machine: true, TTL: longTTL, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S4d", Fault: "the same with two",
			Machine: true, TTL: longTTL, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S7", Fault: "kill -9 of C, which comes back empty",
			TTL: longTTL, Variants: variants("setpx-cad", "redlock", "default"),
		},
		{
			Scenario: "S7b", Fault: "power cut at C, appendfsync everysec: unsynced data is lost",
			Machine: true, TTL: longTTL, Args: aof("everysec"), Variants: variants("setpx-cad", "redlock", "default"),
		},
		{
			Scenario: "S7", Form: "ACL", Fault: "the same; the clients' user may not send INFO, so that no restart can be noticed",
			User: "locker", Password: "secret", Args: []string{"--user", "locker", "on", ">secret", "~*", "&*", "+@all", "-info"},
			TTL: longTTL, Variants: []variant{{Design: "default", As: "unwatched"}}, script: crashUnnoticed,
		},
		{
			Scenario: "S7c", Fault: "power cut at C, appendfsync always",
			Machine: true, TTL: longTTL, Args: aof("always"), Variants: variants("setpx-cad", "redlock", "default"),
		},
		{
			Scenario: "S8", Fault: "kill -9 of the master C; the replica that a proxy has cut off is promoted, the other one has the key",
			TTL: longTTL, Variants: variants("replica-async", "wait-some", "redlock", "wait", "default"),
		},
		{
			Scenario: "S8b", Fault: "the same, and the replica with the key is promoted",
			TTL: longTTL, Variants: variants("replica-async", "redlock", "default"),
		},
		{
			Scenario: "S8c", Fault: "both replicas are cut off, one is promoted",
			TTL: longTTL, Variants: []variant{{Design: "replica-async"}, {Design: "wait-some"}},
		},
		{
			Scenario: "S9", Fault: "a proxy keeps c1's SETs to C, D and E until c1 has lost and deleted",
			TTL: longTTL, Variants: []variant{{Design: "textbook", Timeout: time.Second}, {Design: "default", Timeout: time.Second}},
		},
		{
			Scenario: "S9b", Fault: "C, D and E are stopped (SIGSTOP) with c1's SETs in their sockets, and continued when c1 has lost",
			TTL: longTTL, Variants: []variant{{Design: "textbook", Timeout: patience}, {Design: "default"}}, script: setsInHungServers,
		},
		{
			Scenario: "S10", Fault: "a proxy loses the replies of C and D to c1; E refuses connections",
			TTL: longTTL, Variants: []variant{{Design: "release-granted", Timeout: time.Second}, {Design: "textbook", Timeout: time.Second}, {Design: "default", Timeout: time.Second}},
		},
		{
			Scenario: "S13", Fault: "a server is in the list twice, the second time with another database; kill -9, and it comes back empty",
			TTL: longTTL, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S13b", Fault: "kill -9 of one of five, and c1's lease is on four",
			TTL: longTTL, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S14", Fault: "c1 knows three of the five servers; C refuses its connections",
			TTL: longTTL, Variants: variants("sets-differ", "sets-checked"),
		},
		{
			Scenario: "S14b", Fault: "partition: c1 reaches A and B, c2 the others, and a majority of the reachable is enough",
			TTL: longTTL, Variants: variants("quorum-reachable", "default"),
		},
		{
			Scenario: "S16", Fault: "kill -9 of c1 between its two commands, the second of which a proxy loses",
			Variants: variants("setnx-expire", "setpx-cad", "default"), script: notAtomic,
		},
		{
			Scenario: "S17", Fault: "none: c1 is late, and releases",
			Variants: variants("setpx-del", "setpx-cad", "default"),
		},
		{
			Scenario: "S18", Fault: "proxies let each of two clients get to its half of four servers first",
			TTL: longTTL, Variants: variants("half-quorum", "redlock"), script: halves,
		},
		{
			Scenario: "S19", Fault: "DEL of the key on C, after c1 has had time to put the lease on D and E as well",
			TTL: 6 * time.Second, Variants: variants("redlock", "topup"),
		},
		{
			Scenario: "S20", Fault: "SIGSTOP of c1 before it has fetched its token",
			Variants: variants("token-after", "token-write"),
		},
		{
			Scenario: "S21", Fault: "the same; the token is the current counter",
			Variants: variants("token-current", "token-write"),
		},
		{
			Scenario: "S22", Fault: "of three servers c3 reaches one, c1 A and B, c2 B and C; SIGSTOP of c1 before its write",
			Variants: variants("token-naive-max", "token-write"),
		},
		{
			Scenario: "S24", Fault: "SIGSTOP of c1 before its write, until c2 has read",
			Variants: variants("default", "token-write", "token-admit"),
		},
		{
			Scenario: "S26", Fault: "C's memory is full (CONFIG SET maxmemory, policy volatile-ttl) and others write",
			TTL: longTTL, Args: []string{"--maxmemory-policy", "volatile-ttl"},
			Variants: []variant{{Design: "setpx-cad"}, {Design: "default"}, {Design: "token-admit"}, {Design: "verified"}},
		},
		{
			Scenario: "S26b", Fault: "FLUSHALL on C",
			TTL: longTTL, Variants: variants("default", "token-admit"),
		},
		{
			Scenario: "S26c", Fault: "DEL of the key on C and D, and c1's lease is on all five",
			TTL: longTTL, Variants: variants("redlock", "default"),
		},
		{
			Scenario: "S27", Fault: "SIGSTOP of E",
			TTL: longTTL, Variants: []variant{{Design: "no-timeout"}, {Design: "setpx-cad", Timeout: patience}, {Design: "redlock", Timeout: time.Second}, {Design: "default", Timeout: time.Second}},
		},
		{
			Scenario: "X1", Fault: "kill -9 of the holder",
			Variants: variants("setpx-cad", "redlock", "default"),
		},
		{
			Scenario: "X2", Fault: "partition: c1 reaches A and B, c2 C, D and E",
			TTL: longTTL, Variants: variants("redlock", "default"),
		},
	}
}

func aof(fsync string) []string { return []string{"--appendonly", "yes", "--appendfsync", fsync} }

// delayedWrite is S2.
func delayedWrite(s *environment) {
	c1, c2 := s.startClient(clientOptions{resource: true}), s.startClient()
	c1.mustAcquire()
	write := c1.begin(request{Do: doUpdate, Key: key, Pause: true, Patience: 300 * time.Millisecond})
	if write.await().Event != eventChecked {
		s.late("c1 didn't come to its write")
	}
	s.opsLink.Set(redisproc.Requests, redisproc.Held)
	write.proceed()
	s.await("c1's write is in flight", func() bool { return s.opsLink.Waiting(redisproc.Requests) > 0 })
	if write.await().OK {
		s.fail("live: c1's write was answered although it was held back")
	}
	c1.release()
	c2.mustAwaitLock()
	c2.update()
	answered := s.opsLink.Passed(redisproc.Replies)
	s.opsLink.Set(redisproc.Requests, redisproc.Open)
	s.await("c1's write has arrived", func() bool { return s.opsLink.Passed(redisproc.Replies) > answered })
	c2.release()
}

// stoppedBeforeReplies is S3.
func stoppedBeforeReplies(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	asked := s.beginAsking(c1, s.servers, func() {
		for _, link := range c1.links {
			link.Set(redisproc.Replies, redisproc.Held)
		}
	})
	s.awaitKey(true, s.servers...)
	c1.pause()
	s.awaitKey(false, s.servers...)
	c2.mustAcquire()
	c2.update()
	for _, link := range c1.links {
		link.Reopen()
	}
	c1.cont()
	if asked.await().OK {
		c2.mustHold()
		c1.update()
	}
	c2.release()
}

// beginAsking has a client request the lock. It calls meanwhile while the requests to
// these servers are in flight, and returns after they have arrived.
func (s *environment) beginAsking(c *clientProcess, servers []*server, meanwhile func()) *pending {
	caught := make([]<-chan struct{}, len(servers))
	for i, v := range servers {
		caught[i] = c.link(v).Trap(asksForTheLock)
	}
	asked := c.begin(request{Do: doTry, Key: key})
	for i, v := range servers {
		s.event(c.who+" has asked "+v.name, caught[i])
	}
	meanwhile()
	for _, v := range servers {
		link := c.link(v)
		sent := link.Passed(redisproc.Requests)
		link.Free(true)
		s.await("the request is in "+v.name+"'s socket", func() bool { return link.Passed(redisproc.Requests) > sent })
	}
	return asked
}

// asksForTheLock reports whether a request contains the lock's key.
func asksForTheLock(piece []byte) bool {
	return bytes.Contains(piece, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(key), key))
}

// freeAtOnce requires that a client gets the lock before abandoned keys expire.
func (s *environment) freeAtOnce(c *clientProcess) {
	if c.acquireWithin(s.ttl / 6) {
		c.update()
		c.release()
	}
}

// setsInHungServers is S9b.
func setsInHungServers(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	hung := s.some("CDE")
	asked := s.beginAsking(c1, hung, func() {
		for _, v := range hung {
			s.must(v.Pause())
		}
	})
	// A delete on a new connection gets no further than the handshake.
	c1.cut(hung)
	if asked.await().OK {
		s.fail("live: c1 got the lock from servers that hang")
	}
	for _, v := range hung {
		s.must(v.Resume())
	}
	s.awaitKey(true, hung...)
	for _, v := range hung {
		c1.link(v).Reopen()
	}
	s.freeAtOnce(c2)
}

// notAtomic is S16.
func notAtomic(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	link := c1.link(s.victim())
	secondCommand := link.Trap(func(piece []byte) bool { return bytes.Contains(bytes.ToUpper(piece), []byte("EXPIRE\r\n")) })
	asked := c1.begin(request{Do: doTry, Key: key})
	select {
	case <-secondCommand:
	case said := <-asked.answers: // there is none
		if !said.OK {
			s.late("c1 was not given the lock: " + said.Why)
		}
	case <-s.ctx.Done():
		s.must(s.ctx.Err())
	}
	c1.die()
	link.Free(false)
	if s.everFree(c2) {
		c2.update()
		c2.release()
	}
}

// everFree waits until a client has the lock, or until it is clear that it never will.
func (s *environment) everFree(c *clientProcess) bool {
	for !c.wait(2 * s.ttl) {
		forever := 0
		for _, v := range s.servers {
			if s.ask(v, "PTTL", key) == ":-1" {
				forever++
			}
		}
		if forever > len(s.servers)/2 {
			s.record(entry{Who: c.who, What: wasBlocked, Key: key, Words: "the key has no expiry and its owner is dead"})
			return false
		}
	}
	return true
}

// halves is S18.
func halves(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	hold := func(c *clientProcess, names string, gate redisproc.Gate) {
		for _, v := range s.some(names) {
			c.link(v).Set(redisproc.Requests, gate)
		}
	}
	hold(c1, "CD", redisproc.Held)
	hold(c2, "AB", redisproc.Held)
	first, second := c1.begin(request{Do: doTry, Key: key}), c2.begin(request{Do: doTry, Key: key})
	s.awaitKey(true, s.servers...)
	hold(c1, "CD", redisproc.Open)
	hold(c2, "AB", redisproc.Open)
	one, two := first.await().OK, second.await().OK
	if one {
		c1.update()
		c1.mustHold()
	}
	if two {
		c2.mustHold()
		c2.release()
	}
	if one {
		c1.release()
	}
}

// crashUnnoticed is S7 with a user that has no permission to detect restarts.
func crashUnnoticed(s *environment) {
	s.play()
	if said := s.clients[0].begin(request{Do: doVerify}).await(); said.OK || !strings.Contains(said.Why, "hides") {
		s.fail("live: Verify says nothing of servers that hide their restarts: %q", said.Why)
	}
	s.say("Verify says so")
}

// fillMemory fills a server's memory and writes until the lock's key is evicted.
func (s *environment) fillMemory(v *server) {
	used, err := v.Info("used_memory")
	s.must(err)
	n, err := strconv.Atoi(used)
	s.must(err)
	s.ask(v, "CONFIG", "SET", "maxmemory", strconv.Itoa(n+3<<20))
	s.ask(v, "CONFIG", "SET", "maxmemory-samples", "64")
	filling := strings.Repeat("x", 200<<10)
	for i := 0; s.has(v); i++ {
		if i == 100 {
			s.fail("live: %s has evicted everything but the lock", v.name)
		}
		s.ask(v, "SET", fmt.Sprint("other", i), filling, "EX", "86400")
	}
	s.say("%s has evicted the key", v.name)
}
