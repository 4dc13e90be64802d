//go:build unix

package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// actor is a client process, as the play leads it.
type actor struct {
	*process
	s     *stage
	who   string
	index int
	links []*redisproc.Link // to the servers, in their order
	dump  *os.File          // where its heap is dumped to

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	ended   bool
	reader  sync.WaitGroup
}

// entrance says how a client differs from others.
type entrance struct {
	// places changes where it finds the servers.
	places func([]place) []place
	// resource leads its reads and writes over the stage's link.
	resource bool
	// front gives the address at which it finds a server, nil: the server's own.
	front func(i int) string
	// ttl and maxTTL are other ones than the stage's.
	ttl, maxTTL time.Duration
	// lifetime is place.Lifetime.
	lifetime time.Duration
}

// enter brings a client in, which looks around first. Clients are called c1, c2, ...
func (s *stage) enter(how ...entrance) *actor {
	a := &actor{s: s, index: len(s.actors), waiting: map[int]chan answer{}}
	a.who = fmt.Sprintf("c%d", a.index+1)
	reader, writer, err := os.Pipe()
	s.must(err)
	a.process, err = startPart(a.who, partClient, s.run.dir, nil, writer)
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		s.must(err)
	}
	a.dump = reader
	s.actors = append(s.actors, a)
	a.reader.Go(a.read)

	setup := &setup{Who: a.who, Index: a.index, Scenario: s.act.Scenario, Design: s.part.Design, TTL: s.ttl, Timeout: s.part.timeout(s.ttl), Resource: s.door}
	for i, v := range s.servers {
		target := v.Addr()
		for _, e := range how {
			if e.front != nil {
				target = e.front(i)
			}
		}
		link, err := redisproc.NewLink(target)
		s.must(err)
		a.links = append(a.links, link)
		v.links = append(v.links, link)
		setup.Places = append(setup.Places, s.place(v, link))
	}
	for _, alias := range s.cfg.Aliases {
		link, err := redisproc.NewLink(s.server(alias.Server).Addr())
		s.must(err)
		a.links = append(a.links, link) // after those of the servers
		setup.Places = append(setup.Places, place{Name: alias.Name, Addr: link.Addr(), DB: alias.Database, Vouched: s.server(alias.Server).runID})
	}
	for _, e := range how {
		setup.TTL, setup.MaxTTL = cmp.Or(e.ttl, setup.TTL), cmp.Or(e.maxTTL, setup.MaxTTL)
		for i := range setup.Places {
			setup.Places[i].Lifetime = e.lifetime
		}
		if e.places != nil {
			setup.Places = e.places(setup.Places)
		}
		if e.resource {
			setup.Resource.Addr = s.opsLink.Addr()
		}
	}
	a.ask(request{Do: doSetup, Setup: setup})
	return a
}

// place is where a client finds a server.
func (s *stage) place(v *server, link *redisproc.Link) place {
	return place{Name: v.name, Addr: link.Addr(), User: s.act.User, Password: s.act.Password, Vouched: v.runID, Replicas: s.cfg.WaitReplicas}
}

// read takes in what the process says, until it ends.
func (a *actor) read() {
	lines := json.NewDecoder(a.out)
	for {
		var said answer
		if err := lines.Decode(&said); err != nil {
			break
		}
		a.mu.Lock()
		to := a.waiting[said.ID]
		if said.Event == "" {
			delete(a.waiting, said.ID)
		}
		a.mu.Unlock()
		if to != nil {
			to <- said
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for id, to := range a.waiting {
		close(to)
		delete(a.waiting, id)
	}
}

// close frees what is left when the process has ended.
func (a *actor) close() {
	_ = a.dump.Close()
	a.reader.Wait()
	for _, link := range a.links {
		_ = link.Close()
	}
}

// pending is something that was asked of an actor, and that it hasn't answered yet.
type pending struct {
	a       *actor
	id      int
	what    string
	answers chan answer
}

// begin asks for something without waiting for it.
func (a *actor) begin(r request) *pending {
	a.mu.Lock()
	a.next++
	r.ID = a.next
	// Room for the event and the answer: whoever reads must not wait for the play.
	p := &pending{a: a, id: r.ID, what: r.Do, answers: make(chan answer, 2)}
	if r.Do == doSoak {
		p.answers = make(chan answer, 1<<16)
	}
	ended := a.ended
	if !ended {
		a.waiting[r.ID] = p.answers
	}
	a.mu.Unlock()
	if ended {
		a.s.fail("live: %s has ended: %s", a.who, a.said())
	}
	a.send(r)
	return p
}

func (a *actor) send(r request) {
	text, err := json.Marshal(r)
	a.s.must(err)
	_, err = a.in.Write(append(text, '\n'))
	a.s.must(err)
}

// tell has it do something that nobody waits for, if it can still be told. Any goroutine
// may call it.
func (a *actor) tell(r request) {
	if text, err := json.Marshal(r); err == nil {
		_, _ = a.in.Write(append(text, '\n'))
	}
}

// await waits for the next that the actor says about it.
func (p *pending) await() answer {
	timeout := time.NewTimer(4 * patience)
	defer timeout.Stop()
	select {
	case said, ok := <-p.answers:
		if !ok {
			<-p.a.exited
			p.a.s.fail("live: %s ended before it answered (%s): %s", p.a.who, p.what, p.a.said())
		}
		return said
	case <-p.a.s.ctx.Done():
		p.a.s.must(context.Cause(p.a.s.ctx))
	case <-timeout.C:
		p.a.s.fail("live: %s doesn't answer (%s)", p.a.who, p.what)
	}
	return answer{}
}

// ask asks for something that must succeed.
func (a *actor) ask(r request) answer {
	said := a.begin(r).await()
	if !said.OK {
		a.s.fail("live: %s: %s: %s", a.who, r.Do, said.Why)
	}
	return said
}

// try asks for the lock once, and reports whether it was given.
func (a *actor) try() bool { return a.begin(request{Do: doTry, Key: key}).await().OK }

// take asks for the lock once; without it there is no story.
func (a *actor) take() {
	if said := a.begin(request{Do: doTry, Key: key}).await(); !said.OK {
		a.s.late(a.who + " was not given the lock: " + said.Why)
	}
}

// wait waits for the lock, and reports whether it got it in time.
func (a *actor) wait(atMost time.Duration) bool {
	return a.begin(request{Do: doAcquire, Key: key, Patience: atMost}).await().OK
}

// succeed waits for the lock as long as it may take while another's lease runs out.
func (a *actor) succeed() {
	if !a.wait(patience + 4*a.s.ttl) {
		a.s.fail("live: %s never got the lock", a.who)
	}
}

// demand gives it so long to get the lock; it is written down if that doesn't do.
func (a *actor) demand(within time.Duration) bool {
	began := time.Now()
	if a.wait(within) && time.Since(began) < within {
		return true
	}
	a.s.tell(Entry{Who: a.who, What: wasStarved, Key: key, Words: fmt.Sprintf("not given the lock within %v", within)})
	return false
}

// look has it look at its lease.
func (a *actor) look() bool { return a.ask(request{Do: doLook}).Validity > 0 }

// hold is a look after which the story can only go on if the lease is valid.
func (a *actor) hold() {
	if !a.look() {
		a.s.late(a.who + "'s lease is over")
	}
}

// update has it read, look and write. It reports whether that was carried out; what
// kept it from it is in the history.
func (a *actor) update() bool { return a.begin(request{Do: doUpdate, Key: key}).await().OK }

// check begins an update, and returns when it has looked at its lease and comes to
// the write.
func (a *actor) check() *pending {
	p := a.begin(request{Do: doUpdate, Key: key, Pause: true})
	if said := p.await(); said.Event != eventChecked {
		a.s.late(a.who + " didn't come to its write: " + said.Why)
	}
	return p
}

// unleash lets an update go on from its check; how it ends is awaited elsewhere.
func (p *pending) unleash() { p.a.send(request{Do: doGo, Go: p.id}) }

func (a *actor) release() { _ = a.begin(request{Do: doRelease}).await() } // what it found is in the history

// settle waits until it has nothing under way any more.
func (a *actor) settle() { a.ask(request{Do: doSettle}) }

func (a *actor) pause() { a.s.must(a.stop()) }
func (a *actor) cont()  { a.s.must(a.resume()) }

// die kills it.
func (a *actor) die() {
	a.kill()
	a.s.tell(Entry{Who: a.who, What: wasKilled, Key: key})
}

// link is its link to a server.
func (a *actor) link(v *server) *redisproc.Link {
	for i, other := range a.s.servers {
		if other == v {
			return a.links[i]
		}
	}
	a.s.fail("live: %s has no link to %s", a.who, v.name)
	return nil
}

// cut takes servers out of its reach.
func (a *actor) cut(servers []*server) {
	for _, v := range servers {
		a.link(v).Cut()
	}
}
