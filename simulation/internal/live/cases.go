//go:build unix

package live

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

//go:embed cases.json
var caseList []byte

// Cases returns the live forms of all scenarios that have one, in the scenarios' order.
func Cases() []Case {
	var all []Case
	if err := json.Unmarshal(caseList, &all); err != nil {
		panic("cases.json: " + err.Error()) // a test reads it
	}
	return all
}

// scripts perform cases whose faults hit requests in flight.
var scripts = map[string]func(*environment){
	"delayedWrite": delayedWrite, "stoppedBeforeReplies": stoppedBeforeReplies, "crashUnnoticed": crashUnnoticed,
	"setsInHungServers": setsInHungServers, "notAtomic": notAtomic, "halves": halves,
}

// delayedWrite is S2.
func delayedWrite(s *environment) {
	c1, c2 := s.startClient(clientOptions{resource: true}), s.startClient()
	c1.mustAcquire()
	write := c1.begin(request{Do: doUpdate, Key: key, Pause: true, Patience: s.ttl / 5})
	if write.await().Event != eventChecked {
		s.late("c1 didn't come to its write")
	}
	s.opsLink.Hold(redisproc.Requests)
	write.proceed()
	s.await("c1's write is in flight, or c1 has given up", func() bool {
		return s.opsLink.Waiting(redisproc.Requests) > 0 || len(write.answers) > 0
	})
	if s.opsLink.Waiting(redisproc.Requests) == 0 {
		s.late("c1's write wasn't sent in time")
	}
	if write.await().OK {
		s.fail("live: c1's write was answered although it was held back")
	}
	c1.release()
	c2.mustAwaitLock()
	c2.update()
	answered := s.opsLink.Passed(redisproc.Replies)
	s.opsLink.Open(redisproc.Requests)
	s.await("c1's write has arrived", func() bool { return s.opsLink.Passed(redisproc.Replies) > answered })
	c2.release()
}

// stoppedBeforeReplies is S3.
func stoppedBeforeReplies(s *environment) {
	c1, c2 := s.startClient(), s.startClient()
	asked := s.beginAsking(c1, s.servers, func() {
		for _, link := range c1.links {
			link.Hold(redisproc.Replies)
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
	requests := func(c *clientProcess, names string, set func(*redisproc.Link)) {
		for _, v := range s.some(names) {
			set(c.link(v))
		}
	}
	hold := func(l *redisproc.Link) { l.Hold(redisproc.Requests) }
	open := func(l *redisproc.Link) { l.Open(redisproc.Requests) }
	requests(c1, "CD", hold)
	requests(c2, "AB", hold)
	first, second := c1.begin(request{Do: doTry, Key: key}), c2.begin(request{Do: doTry, Key: key})
	s.awaitKey(true, s.servers...)
	requests(c1, "CD", open)
	requests(c2, "AB", open)
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
