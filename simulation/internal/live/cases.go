//go:build unix

package live

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Cases returns the live forms of all scenarios that have one, in the scenarios' order.
func Cases() []Case {
	return []Case{
		{
			Scenario: "S1", Form: "SIGSTOP", Fault: "c1's process is stopped between its look at the lease and its write, and continued when c2 has written",
			Variants: variants("setpx-cad", "redlock", "default", "token-admit"), script: stoppedHolder,
		},
		{
			Scenario: "S1", Form: "stopped world", Fault: "c1's Go runtime stops its world there, for a heap dump to a pipe that nobody reads",
			Variants: variants("default", "token-admit"), script: frozenHolder,
		},
		{
			Scenario: "S1", Form: "Redis row", Fault: "as the first; the resource is a row in Redis, behind fencing/redisguard",
			Row: true, Variants: variants("default", "token-admit"), script: stoppedHolder,
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
			Variants: []Variant{{Design: "setpx-cad", Timeout: patience}, {Design: "redlock", Timeout: 600 * time.Millisecond}, {Design: "default", Timeout: 600 * time.Millisecond}}, script: stoppedBeforeReplies,
		},
		{
			Scenario: "S4", Fault: "the clock of the redis-server C, which c1's lease can't do without, jumps beyond the TTL",
			Machine: true, TTL: longTTL, Variants: variants("setpx-cad", "redlock", "default"),
			script: oneVoteLost(func(s *environment) { s.victim().machine.jump(2 * s.ttl) }),
		},
		{
			Scenario: "S4b", Fault: "kill -9 of the holder; the clocks of C, D and E are set back",
			Machine: true, Variants: variants("redlock", "default"), script: clocksBack,
		},
		{
			Scenario: "S4c", Fault: "c1's lease is on all five; the clocks of three jump beyond the TTL",
			Machine: true, TTL: longTTL, Variants: variants("redlock", "default"), script: onAllFive("", jumpAhead("CDE")),
		},
		{
			Scenario: "S4d", Fault: "the same with two",
			Machine: true, TTL: longTTL, Variants: variants("redlock", "default"), script: onAllFive("", jumpAhead("CD")),
		},
		{
			Scenario: "S7", Fault: "kill -9 of C, which comes back empty",
			TTL: longTTL, Variants: variants("setpx-cad", "redlock", "default"), script: oneVoteLost(crash),
		},
		{
			Scenario: "S7b", Fault: "power cut at C, appendfsync everysec: what wasn't synced is gone",
			Machine: true, TTL: longTTL, Args: aof("everysec"), Variants: variants("setpx-cad", "redlock", "default"), script: everySecond,
		},
		{
			Scenario: "S7", Form: "ACL", Fault: "the same; the clients' user may not send INFO, so that no restart can be noticed",
			User: "locker", Password: "secret", Args: []string{"--user", "locker", "on", ">secret", "~*", "&*", "+@all", "-info"},
			TTL: longTTL, Variants: []Variant{{Design: "default", As: "unwatched"}}, script: crashUnnoticed,
		},
		{
			Scenario: "S7c", Fault: "power cut at C, appendfsync always",
			Machine: true, TTL: longTTL, Args: aof("always"), Variants: variants("setpx-cad", "redlock", "default"), script: oneVoteLost(cutPower),
		},
		{
			Scenario: "S8", Fault: "kill -9 of the master C; the replica that a proxy has cut off is promoted, the other one has the key",
			TTL: longTTL, Variants: variants("replica-async", "wait-some", "redlock", "wait", "default"), script: failover(true, "1"),
		},
		{
			Scenario: "S8b", Fault: "the same, and the replica is promoted that has the key",
			TTL: longTTL, Variants: variants("replica-async", "redlock", "default"), script: failover(true, "2"),
		},
		{
			Scenario: "S8c", Fault: "both replicas are cut off, one is promoted",
			TTL: longTTL, Variants: []Variant{{Design: "replica-async"}, {Design: "wait-some", Declines: true}}, script: failover(false, "1"),
		},
		{
			Scenario: "S9", Fault: "a proxy keeps c1's SETs to C, D and E until c1 has lost and deleted",
			TTL: longTTL, Variants: []Variant{{Design: "textbook", Timeout: time.Second}, {Design: "default", Timeout: time.Second}}, script: lateSets,
		},
		{
			Scenario: "S9b", Fault: "C, D and E are stopped (SIGSTOP) with c1's SETs in their sockets, and continued when c1 has lost",
			TTL: longTTL, Variants: []Variant{{Design: "textbook", Timeout: patience}, {Design: "default"}}, script: setsInHungServers,
		},
		{
			Scenario: "S10", Fault: "a proxy loses the replies of C and D to c1; E refuses connections",
			TTL: longTTL, Variants: []Variant{{Design: "release-granted", Timeout: time.Second}, {Design: "textbook", Timeout: time.Second}, {Design: "default", Timeout: time.Second}}, script: repliesLost,
		},
		{
			Scenario: "S13", Fault: "a server is in the list twice, the second time with another database; kill -9, and it comes back empty",
			TTL: longTTL, Variants: variants("redlock", "default"), script: serverTwice,
		},
		{
			Scenario: "S13b", Fault: "kill -9 of one of five, and c1's lease is on four",
			TTL: longTTL, Variants: variants("redlock", "default"), script: onAllFive("D", func(s *environment) {
				a := s.server("A")
				a.Kill()
				s.must(a.Restart(s.ctx))
			}),
		},
		{
			Scenario: "S14", Fault: "c1 knows three of the five servers; C refuses its connections",
			TTL: longTTL, Variants: variants("sets-differ", "sets-checked"), script: differentSets,
		},
		{
			Scenario: "S14b", Fault: "partition: c1 reaches A and B, c2 the others, and a majority of the reachable is enough",
			TTL: longTTL, Variants: variants("quorum-reachable", "default"), script: majorityOfReachable,
		},
		{
			Scenario: "S16", Fault: "kill -9 of c1 between its two commands, the second of which a proxy loses",
			Variants: variants("setnx-expire", "setpx-cad", "default"), script: notAtomic,
		},
		{
			Scenario: "S17", Fault: "none: c1 is late, and releases",
			Variants: variants("setpx-del", "setpx-cad", "default"), script: blindDelete,
		},
		{
			Scenario: "S18", Fault: "proxies let each of two clients get to its half of four servers first",
			TTL: longTTL, Variants: variants("half-quorum", "redlock"), script: halves,
		},
		{
			Scenario: "S19", Fault: "DEL of the key on C, after c1 has had time to put the lease on D and E, too",
			TTL: 6 * time.Second, Variants: variants("redlock", "topup"), script: bareMajority,
		},
		{
			Scenario: "S20", Fault: "SIGSTOP of c1 before it has fetched its token",
			Variants: variants("token-after", "token-write"), script: stoppedBeforeToken,
		},
		{
			Scenario: "S21", Fault: "the same; the token is what the counter says",
			Variants: variants("token-current", "token-write"), script: stoppedBeforeToken,
		},
		{
			Scenario: "S22", Fault: "of three servers c3 reaches one, c1 A and B, c2 B and C; SIGSTOP of c1 before its write",
			Variants: variants("token-naive-max", "token-write"), script: naiveMaximum,
		},
		{
			Scenario: "S24", Fault: "SIGSTOP of c1 before its write, until c2 has read",
			Variants: variants("default", "token-write", "token-admit"), script: lateBetween,
		},
		{
			Scenario: "S26", Fault: "C's memory is full (CONFIG SET maxmemory, policy volatile-ttl) and others write",
			TTL: longTTL, Args: []string{"--maxmemory-policy", "volatile-ttl"},
			Variants: []Variant{{Design: "setpx-cad"}, {Design: "default"}, {Design: "token-admit"}, {Design: "verified", Declines: true}}, script: oneVoteLost(fillMemory),
		},
		{
			Scenario: "S26b", Fault: "FLUSHALL on C",
			TTL: longTTL, Variants: variants("default", "token-admit"), script: oneVoteLost(func(s *environment) { s.ask(s.victim(), "FLUSHALL") }),
		},
		{
			Scenario: "S26c", Fault: "DEL of the key on C and D, and c1's lease is on all five",
			TTL: longTTL, Variants: variants("redlock", "default"), script: onAllFive("", func(s *environment) {
				s.ask(s.server("C"), "DEL", key)
				s.ask(s.server("D"), "DEL", key)
			}),
		},
		{
			Scenario: "S27", Fault: "SIGSTOP of E",
			TTL: longTTL, Variants: []Variant{{Design: "no-timeout"}, {Design: "setpx-cad", Timeout: patience}, {Design: "redlock", Timeout: time.Second}, {Design: "default", Timeout: time.Second}}, script: oneHangs,
		},
		{
			Scenario: "X1", Fault: "kill -9 of the holder",
			Variants: variants("setpx-cad", "redlock", "default"), script: holderDies,
		},
		{
			Scenario: "X2", Fault: "partition: c1 reaches A and B, c2 C, D and E",
			TTL: longTTL, Variants: variants("redlock", "default"), script: partition,
		},
	}
}

func aof(fsync string) []string { return []string{"--appendonly", "yes", "--appendfsync", fsync} }

// stoppedHolder is S1 with a process that is stopped.
func stoppedHolder(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	write := c1.check()
	c1.pause()
	write.proceed() // it reads this when it is resumed
	c2.mustAwaitLock()
	c2.update()
	c1.cont()
	write.await()
	c2.release()
	c1.release()
}

// frozenHolder is S1 with a Go program whose world is stopped.
func frozenHolder(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	write := c1.check()
	frozen := c1.freeze()
	write.proceed()
	c2.mustAwaitLock()
	c2.update()
	frozen.thaw()
	write.await()
	c2.release()
	c1.release()
}

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
		link.Mend()
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

// oneVoteLost is S4, S7, S8 and S26: c1 has the lock on A, B and C, or on the only server;
// a fault hits one vote; then c2 asks.
func oneVoteLost(fault func(s *environment)) func(s *environment) {
	return func(s *environment) {
		c1, c2 := s.startClient(), s.startClient()
		c1.cut(s.some("DE"))
		had := c1.first()
		fault(s)
		s.second(c1, c2, had)
	}
}

// onAllFive is the same with a lease on all servers except the unreached ones.
func onAllFive(unreached string, fault func(s *environment)) func(s *environment) {
	return func(s *environment) {
		c1, c2 := s.startClient(), s.startClient()
		c1.cut(s.some(unreached))
		had := c1.first()
		for _, v := range s.servers {
			if !strings.Contains(unreached, v.name) {
				s.awaitKey(true, v) // a round can be won before the last reply
			}
		}
		fault(s)
		s.second(c1, c2, had)
	}
}

// jumpAhead steps servers' clocks forward by more than the TTL.
func jumpAhead(servers string) func(s *environment) {
	return func(s *environment) {
		for _, v := range s.some(servers) {
			v.machine.jump(2 * s.ttl)
		}
	}
}

// first has a client acquire the lock and update.
func (a *clientProcess) first() (had bool) {
	if a.env.variant.Declines {
		if a.try() {
			a.env.fail("live: %s has the lock, but must not have asked for it", a.who)
		}
		return false
	}
	a.mustAcquire()
	a.update()
	return true
}

// second has c2 try to acquire and use the lock that c1 holds. Then c1 continues.
func (s *environment) second(c1, c2 *clientProcess, had bool) {
	got := c2.try()
	if got {
		c2.update()
	}
	if had {
		c1.mustHold()
		c1.update()
		c1.release()
	}
	if got {
		c2.release()
	}
}

// crash kills the server and restarts it.
func crash(s *environment) {
	v := s.victim()
	v.Kill()
	s.must(v.Restart(s.ctx))
}

// cutPower is a crash that loses unsynced data.
func cutPower(s *environment) {
	v := s.victim()
	v.Kill()
	v.machine.stall(false)
	lost, err := v.machine.cutPower(v.Dir())
	s.must(err)
	s.say("%d bytes of its log were not on the disk", lost)
	s.must(v.Restart(s.ctx))
}

// everySecond is S7b: the disk is stalled, so the SET is not synced.
func everySecond(s *environment) {
	s.victim().machine.stall(true)
	oneVoteLost(func(s *environment) {
		cutPower(s)
		if s.has(s.victim()) {
			s.fail("live: the vote is on the disk although the disk was stalled")
		}
	})(s)
}

// clocksBack is S4b.
func clocksBack(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	c1.die()
	for _, v := range s.some("CDE") {
		v.machine.jump(-10 * time.Minute)
	}
	v := s.victim()
	left, err := strconv.Atoi(strings.TrimPrefix(s.ask(v, "PTTL", key), ":"))
	s.must(err)
	s.say("PTTL on %s is %v, the TTL %v", v.name, time.Duration(left)*time.Millisecond, s.ttl)
	c2.acquireWithin(2 * s.ttl)
}

// asksForTheLock reports whether a request contains the lock's key.
func asksForTheLock(piece []byte) bool {
	return bytes.Contains(piece, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(key), key))
}

// lateSets is S9.
func lateSets(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	late := s.some("CDE")
	for _, v := range late {
		c1.link(v).Trap(asksForTheLock)
	}
	if c1.try() {
		s.fail("live: c1 got the lock without C, D and E")
	}
	// c1 has sent its deletes by now. A reply shows that the server has executed the SET,
	// although c1 no longer waits for it.
	for _, v := range late {
		link := c1.link(v)
		answered := link.Passed(redisproc.Replies)
		link.Free(true)
		s.await(v.name+" has answered to the late SET", func() bool { return link.Passed(redisproc.Replies) > answered })
	}
	s.freeAtOnce(c2)
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
		c1.link(v).Mend()
	}
	s.freeAtOnce(c2)
}

// repliesLost is S10.
func repliesLost(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.cut(s.some("E"))
	c2.cut(s.some("E"))
	mute := s.some("CD")
	asked := s.beginAsking(c1, mute, func() {
		for _, v := range mute {
			c1.link(v).Set(redisproc.Replies, redisproc.Shut)
		}
	})
	for _, v := range mute {
		link := c1.link(v)
		s.await(v.name+"'s reply is lost", func() bool { return link.Lost(redisproc.Replies) > 0 })
		link.Mend()
	}
	if asked.await().OK {
		s.fail("live: c1 got the lock with two votes")
	}
	s.freeAtOnce(c2)
}

// serverTwice is S13.
func serverTwice(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.cut(s.some("D"))
	had := c1.try()
	if had {
		c1.update()
	}
	a := s.server("A")
	a.Kill()
	s.must(a.Restart(s.ctx))
	s.second(c1, c2, had)
}

// differentSets is S14.
func differentSets(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c2.mustAcquire()
	c2.update()
	c2.release()
	c2.settle()
	c1.cut(s.some("C"))
	s.both(c1, c2)
}

// majorityOfReachable is S14b.
func majorityOfReachable(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.cut(s.some("CDE"))
	c2.cut(s.some("AB"))
	s.both(c1, c2)
}

// both has c1 try to acquire the lock, and then c2, before c1 releases.
func (s *environment) both(c1, c2 *clientProcess) {
	first := c1.try()
	if first {
		c1.update()
	}
	second := c2.try()
	if second {
		c2.update()
	}
	if first {
		c1.mustHold()
		c1.release()
	}
	if second {
		c2.release()
	}
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
			s.record(Entry{Who: c.who, What: wasBlocked, Key: key, Words: "the key has no expiry and its owner is dead"})
			return false
		}
	}
	return true
}

// blindDelete is S17.
func blindDelete(s *environment) {
	c1, c2, c3 := s.startClient(), s.startClient(), s.startClient()
	c1.mustAcquire()
	c1.update()
	c2.mustAwaitLock()
	c2.update()
	c1.release()
	got := c3.try()
	if got {
		c3.update()
	}
	c2.mustHold()
	c2.update()
	c2.release()
	if got {
		c3.release()
	}
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

// oneHangs is S27.
func oneHangs(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	hung := s.servers[len(s.servers)-1]
	s.must(hung.Pause())
	for _, c := range []*clientProcess{c1, c2} {
		if c.acquireWithin(s.ttl / 6) {
			c.update()
			c.release()
		}
	}
}

// holderDies is X1.
func holderDies(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	c1.check()
	c1.die()
	if c2.try() {
		s.late("c1's lease has expired")
	}
	if c2.acquireWithin(patience + s.ttl) {
		c2.update()
		c2.release()
	}
}

// partition is X2.
func partition(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.cut(s.some("CDE"))
	c2.cut(s.some("AB"))
	small := c1.begin(request{Do: doAcquire, Key: key, Patience: s.ttl / 20})
	if c2.acquireWithin(s.ttl / 3) {
		c2.update()
		c2.release()
	}
	if small.await().OK {
		c1.update()
		c1.release()
	}
}

// crashUnnoticed is S7 with a user that has no permission to detect restarts.
func crashUnnoticed(s *environment) {
	oneVoteLost(crash)(s)
	if said := s.clients[0].begin(request{Do: doVerify}).await(); said.OK || !strings.Contains(said.Why, "hides") {
		s.fail("live: Verify says nothing of servers that hide their restarts: %q", said.Why)
	}
	s.say("Verify says so")
}

// failover is S8: the victim has two replicas, the second may be up to date, and one is
// promoted.
func failover(upToDate bool, promoted string) func(s *environment) {
	return func(s *environment) {
		v := s.victim()
		replicas := map[string]*server{}
		links := map[string]*redisproc.Link{}
		for _, name := range []string{"1", "2"} {
			replicas[name], links[name] = s.replica(v, v.name+name)
		}
		if s.cfg.WaitReplicas > 0 {
			for _, other := range s.servers {
				if other != v {
					s.replica(other, other.name+"1")
				}
			}
		}
		c1, c2 := s.startClient(), s.startClient()
		links["1"].Set(redisproc.Replies, redisproc.Shut)
		if !upToDate {
			links["2"].Set(redisproc.Replies, redisproc.Shut)
		}
		c1.cut(s.some("DE"))
		had := c1.first()
		if upToDate {
			s.awaitKey(true, replicas["2"])
		}
		v.Kill()
		master := replicas[promoted]
		s.ask(master, "REPLICAOF", "NO", "ONE")
		for name, other := range replicas {
			if name != promoted { // it replicates from the new master, as after any failover
				links[name].Retarget(master.Addr())
				links[name].Mend()
				s.awaitInStep(other)
				s.await("the new master has a replica", func() bool {
					n, err := master.Info("connected_slaves")
					return err == nil && n == "1"
				})
			}
		}
		for _, link := range v.links {
			link.Retarget(master.Addr())
		}
		s.second(c1, c2, had)
	}
}

// replica starts a replica of a server and waits until it is up to date.
func (s *environment) replica(v *server, name string) (*server, *redisproc.Link) {
	link, err := redisproc.NewLink(v.Addr())
	s.must(err)
	s.closers = append(s.closers, func() { _ = link.Close() })
	r := s.startServer(name)
	host, port, err := net.SplitHostPort(link.Addr())
	s.must(err)
	s.ask(v, "CONFIG", "SET", "repl-diskless-sync-delay", "0")
	s.ask(r, "REPLICAOF", host, port)
	s.awaitInStep(r)
	return r, link
}

// awaitInStep waits until a replica is in sync with its master.
func (s *environment) awaitInStep(r *server) {
	s.await(r.name+" is in step with its master", func() bool {
		status, err := r.Info("master_link_status")
		return err == nil && status == "up"
	})
}

// bareMajority is S19.
func bareMajority(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.cut(s.some("DE"))
	c1.mustAcquire()
	c1.update()
	for _, v := range s.some("DE") {
		c1.link(v).Mend()
	}
	if s.cfg.Quorum.KeepAlive {
		s.awaitKey(true, s.some("DE")...)
	}
	s.ask(s.victim(), "DEL", key)
	s.second(c1, c2, true)
}

// stoppedBeforeToken is S20 and S21.
func stoppedBeforeToken(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	c1.mustHold()
	c1.pause()
	write := c1.begin(request{Do: doWrite})
	c2.mustAwaitLock()
	c2.update()
	c1.cont()
	write.await()
	c2.release()
}

// naiveMaximum is S22.
func naiveMaximum(s *environment) {
	c1, c2, c3 := s.startClient(), s.startClient(), s.startClient()
	c3.cut(s.some("BC"))
	if c3.try() {
		s.fail("live: c3 got the lock from one server of three")
	}
	c3.settle()
	s.awaitKey(false, s.servers...)
	c1.cut(s.some("C"))
	c1.mustAcquire()
	write := c1.check()
	c1.pause()
	write.proceed()
	// c2 asks once, because each attempt increments the counter on C.
	s.awaitKey(false, s.servers...)
	c2.cut(s.some("A"))
	c2.mustAcquire()
	c2.update()
	c1.cont()
	write.await()
	c2.release()
	c1.release()
}

// lateBetween is S24.
func lateBetween(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	c1.mustAcquire()
	write := c1.check()
	c1.pause()
	write.proceed()
	c2.mustAwaitLock()
	c2.ask(request{Do: doRead})
	c1.cont()
	write.await()
	c2.mustHold()
	c2.begin(request{Do: doWrite}).await()
	c2.release()
	c1.release()
}

// fillMemory fills a server's memory and writes until the lock's key is evicted.
func fillMemory(s *environment) {
	v := s.victim()
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
