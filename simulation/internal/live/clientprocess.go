//go:build unix

package live

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// clientProcess is a client process as the run controls it.
type clientProcess struct {
	*process
	env   *environment
	who   string
	index int
	links []*redisproc.Link // to the servers, in order
	dump  *os.File          // receives its heap dump

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	ended   bool
	reader  sync.WaitGroup
}

// clientOptions are the differences of one client.
type clientOptions struct {
	// resource routes its reads and writes through opsLink.
	resource bool
}

// startClient starts a client, which first verifies the servers. Clients are named c1,
// c2, ...
func (s *environment) startClient(how ...clientOptions) *clientProcess {
	a := &clientProcess{env: s, index: len(s.clients), waiting: map[int]chan answer{}}
	a.who = fmt.Sprintf("c%d", a.index+1)
	reader, writer, err := os.Pipe()
	s.must(err)
	a.process, err = startRole(a.who, roleClient, s.run.dir, nil, writer)
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		s.must(err)
	}
	a.dump = reader
	s.clients = append(s.clients, a)
	a.reader.Go(a.read)

	setup := &setup{Who: a.who, Index: a.index, Scenario: s.tc.Scenario, Design: s.design, TTL: s.ttl, Timeout: s.tc.timeout(s.design, s.ttl), Resource: s.resourceConfig}
	for _, v := range s.servers {
		link, err := redisproc.NewLink(v.Addr())
		s.must(err)
		a.links = append(a.links, link)
		v.links = append(v.links, link)
		setup.Targets = append(setup.Targets, s.target(v, link))
	}
	for _, alias := range s.cfg.Aliases {
		link, err := redisproc.NewLink(s.server(alias.Server).Addr())
		s.must(err)
		a.links = append(a.links, link) // after the servers' links
		setup.Targets = append(setup.Targets, target{Name: alias.Name, Addr: link.Addr(), DB: alias.Database, Vouched: s.server(alias.Server).runID})
	}
	for _, e := range how {
		if e.resource {
			setup.Resource.Addr = s.opsLink.Addr()
		}
	}
	a.ask(request{Do: doSetup, Setup: setup})
	return a
}

// target describes a server to a client.
func (s *environment) target(v *server, link *redisproc.Link) target {
	return target{Name: v.name, Addr: link.Addr(), User: s.tc.User, Password: s.tc.Password, Vouched: v.runID, Replicas: s.cfg.WaitReplicas}
}

// read dispatches the messages of the process until it ends.
func (a *clientProcess) read() {
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

// close frees resources after the process has ended.
func (a *clientProcess) close() {
	_ = a.dump.Close()
	a.reader.Wait()
	for _, link := range a.links {
		_ = link.Close()
	}
}

// pending is a request that the client has not answered yet.
type pending struct {
	a       *clientProcess
	id      int
	what    string
	answers chan answer
}

// begin sends a request without waiting for the answer.
func (a *clientProcess) begin(r request) *pending {
	a.mu.Lock()
	a.next++
	r.ID = a.next
	// Buffered for the event and the answer, because read must not block.
	p := &pending{a: a, id: r.ID, what: r.Do, answers: make(chan answer, 2)}
	ended := a.ended
	if !ended {
		a.waiting[r.ID] = p.answers
	}
	a.mu.Unlock()
	if ended {
		a.env.fail("live: %s has ended: %s", a.who, a.said())
	}
	a.send(r)
	return p
}

func (a *clientProcess) send(r request) {
	text, err := json.Marshal(r)
	a.env.must(err)
	_, err = a.in.Write(append(text, '\n'))
	a.env.must(err)
}

// await returns the next message about the request.
func (p *pending) await() answer {
	timeout := time.NewTimer(4 * patience)
	defer timeout.Stop()
	select {
	case said, ok := <-p.answers:
		if !ok {
			<-p.a.exited
			p.a.env.fail("live: %s ended before answering (%s): %s", p.a.who, p.what, p.a.said())
		}
		return said
	case <-p.a.env.ctx.Done():
		p.a.env.must(context.Cause(p.a.env.ctx))
	case <-timeout.C:
		p.a.env.fail("live: %s doesn't answer (%s)", p.a.who, p.what)
	}
	return answer{}
}

// ask sends a request that must succeed.
func (a *clientProcess) ask(r request) answer {
	said := a.begin(r).await()
	if !said.OK {
		a.env.fail("live: %s: %s: %s", a.who, r.Do, said.Why)
	}
	return said
}

// try tries once to acquire the lock and reports whether it succeeded.
func (a *clientProcess) try() bool { return a.begin(request{Do: doTry, Key: key}).await().OK }

// mustAcquire tries once to acquire the lock. On failure the run is repeated.
func (a *clientProcess) mustAcquire() {
	if said := a.begin(request{Do: doTry, Key: key}).await(); !said.OK {
		a.env.late(a.who + " didn't get the lock: " + said.Why)
	}
}

// wait waits for the lock and reports whether the client got it in time.
func (a *clientProcess) wait(atMost time.Duration) bool {
	return a.begin(request{Do: doAcquire, Key: key, Patience: atMost}).await().OK
}

// mustAwaitLock waits for the lock until another client's lease must have expired.
func (a *clientProcess) mustAwaitLock() {
	if !a.wait(patience + 4*a.env.ttl) {
		a.env.fail("live: %s never got the lock", a.who)
	}
}

// acquireWithin waits for the lock and records a failure to get it in time, with what each
// server answered last.
func (a *clientProcess) acquireWithin(within time.Duration) bool {
	began := time.Now()
	said := a.begin(request{Do: doAcquire, Key: key, Patience: within}).await()
	took := time.Since(began)
	if said.OK && took < within {
		return true
	}
	why := said.Why
	if said.OK {
		why = "the client has it, but too late"
	}
	a.env.record(entry{Who: a.who, What: wasStarved, Key: key, Words: fmt.Sprintf("no lock within %v, but after %v: %s", within, took.Round(time.Millisecond), why)})
	return false
}

// valid has the client check its lease.
func (a *clientProcess) valid() bool { return a.ask(request{Do: doCheck}).Validity > 0 }

// mustHold checks the lease. If it is not valid, the run is repeated.
func (a *clientProcess) mustHold() {
	if !a.valid() {
		a.env.late(a.who + "'s lease has expired")
	}
}

// update has the client read, check its lease and write. It reports success. The history
// has the reason of a failure.
func (a *clientProcess) update() bool { return a.begin(request{Do: doUpdate, Key: key}).await().OK }

// check begins an update and returns after the check of the lease, before the write.
func (a *clientProcess) check() *pending {
	p := a.begin(request{Do: doUpdate, Key: key, Pause: true})
	if said := p.await(); said.Event != eventChecked {
		a.env.late(a.who + " didn't come to its write: " + said.Why)
	}
	return p
}

// proceed lets an update continue after its check. It does not wait for the end.
func (p *pending) proceed() { p.a.send(request{Do: doGo, Go: p.id}) }

func (a *clientProcess) release() { _ = a.begin(request{Do: doRelease}).await() } // the history has its error

func (a *clientProcess) pause() { a.env.must(a.stop()) }
func (a *clientProcess) cont()  { a.env.must(a.resume()) }

// die kills the client and records it.
func (a *clientProcess) die() {
	a.kill()
	a.env.record(entry{Who: a.who, What: wasKilled, Key: key})
}

// link returns the client's link to a server.
func (a *clientProcess) link(v *server) *redisproc.Link {
	for i, other := range a.env.servers {
		if other == v {
			return a.links[i]
		}
	}
	a.env.fail("live: %s has no link to %s", a.who, v.name)
	return nil
}

// cut disconnects the client from servers.
func (a *clientProcess) cut(servers []*server) {
	for _, v := range servers {
		a.link(v).Cut()
	}
}
