//go:build unix

package live

import (
	"cmp"
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	// begins is the time at which the scenarios begin, and simulatedTTL the TTL of their
	// leases.
	begins       = time.Second
	simulatedTTL = 10 * time.Second
	// longSlack is added to the time in which a client must get the lock. It is long, because
	// a busy machine must not look like a lock that nobody can get. Where the simulation says
	// that the client does not get it in time, shortSlack is added.
	longSlack  = 12 * time.Second
	shortSlack = 2500 * time.Millisecond
)

// play performs the scenario's own scripts and faults on the real servers, in the order of
// their times. It does not wait for these times: where a lease has to expire, it waits until
// the keys are gone.
type play struct {
	env        *environment
	performers []*performer
	replicas   map[*server][]*replica
	expected   map[string][]bool // whether a client's requests are granted in the simulation
	slack      time.Duration
}

// task is a script or a fault. next performs its part at a time and returns the time of the
// next part.
type task struct {
	at     time.Duration
	next   func() (time.Duration, bool)
	stop   func()
	client *performer
}

// play performs the case's scenario.
func (s *environment) play() {
	scenario, design, err := settings(s.tc.Scenario, s.design)
	s.must(err)
	_, schedule := scenario.Setting(design)
	p := &play{env: s, replicas: map[*server][]*replica{}, expected: map[string][]bool{}, slack: longSlack}
	predicted, err := predict(s.tc.Scenario, s.tc.predictedBy(s.design))
	s.must(err)
	if slices.Contains(predicted, record.NoProgress) || slices.Contains(predicted, record.NeverFree) {
		p.slack = shortSlack
	}
	p.expect()
	p.prepare(schedule)
	var tasks []*task
	defer func() {
		for _, t := range tasks {
			t.stop()
		}
	}()
	add := func(steps iter.Seq[time.Duration], client *performer) {
		t := &task{client: client}
		t.next, t.stop = iter.Pull(steps)
		t.at, _ = t.next()
		tasks = append(tasks, t)
	}
	scripts := scenario.Scripts[:min(len(scenario.Scripts), cmp.Or(s.cfg.Processes, 2))]
	for range scripts {
		p.performers = append(p.performers, &performer{play: p, clientProcess: s.startClient(), free: scenario.Free, isCut: map[string]bool{}})
	}
	for _, f := range schedule {
		switch {
		case f.Nth == 0:
			add(p.fault(f), nil)
		case f.Op == "write":
			p.client(f.Process).atWrite = f
		default: // a delay of the request for the lock
			link := p.client(f.Process).link(s.server(f.Server))
			link.Trap(asksForTheLock)
			add(p.release(link, begins+f.By), nil)
		}
	}
	for i, script := range scripts {
		add(p.performers[i].perform(script), p.performers[i])
	}
	for len(tasks) > 0 {
		first := 0
		for i, t := range tasks {
			if t.client != nil {
				t.at = max(t.at, t.client.stoppedUntil)
			}
			if t.at < tasks[first].at {
				first = i
			}
		}
		at, more := tasks[first].next()
		if tasks[first].at = at; !more {
			tasks = append(tasks[:first], tasks[first+1:]...)
		}
	}
}

// expect notes the results of requests in the simulation.
func (p *play) expect() {
	s := p.env
	scenario, design, err := settings(s.tc.Scenario, s.tc.predictedBy(s.design))
	s.must(err)
	r, err := scenario.Play(0, design)
	s.must(err)
	for _, e := range r.Log.History() {
		if e.Kind == record.Acquired || e.Kind == record.Refused {
			p.expected[e.Process] = append(p.expected[e.Process], e.Kind == record.Acquired)
		}
	}
}

// prepare starts the replicas that faults need, and stalls disks that are to lose data.
func (p *play) prepare(schedule simulation.Schedule) {
	s := p.env
	for _, f := range schedule {
		switch {
		case f.Kind == fault.Restart && f.Keep == fault.KeepSecond:
			s.server(f.Server).machine.stall(true)
		case f.Kind == fault.Failover:
			for _, v := range s.servers {
				count := s.cfg.WaitReplicas
				if v.name == f.Server {
					count = s.cfg.Replicas
				}
				for i := range count {
					p.replicas[v] = append(p.replicas[v], s.startReplica(v, v.name+strconv.Itoa(i+1)))
				}
			}
		}
	}
}

func (p *play) client(name string) *performer {
	for _, c := range p.performers {
		if c.who == name {
			return c
		}
	}
	p.env.fail("live: there is no client %s", name)
	return nil
}

// scaled converts a duration of the scenario to the TTL of the run.
func (p *play) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / float64(simulatedTTL) * float64(p.env.ttl))
}

// fault causes a fault at its time, and ends it.
func (p *play) fault(f fault.Fault) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if !yield(f.At) {
			return
		}
		if end := p.cause(f); end != nil && f.For > 0 && yield(f.At+f.For) {
			end()
		}
	}
}

// loseReply loses the next reply only: the client deletes its key on a new connection, which
// needs replies.
func loseReply(ctx context.Context, link *redisproc.Link) (lost <-chan struct{}) {
	link.Drop(redisproc.Replies)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for link.Lost(redisproc.Replies) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		link.Reopen()
		close(done)
	}()
	return done
}

// release releases a delayed request. The reply shows that the server has executed it, even
// if the client no longer waits.
func (p *play) release(link *redisproc.Link, at time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if yield(at) {
			answered := link.Passed(redisproc.Replies)
			link.Free(true)
			p.env.await("a late request is executed", func() bool { return link.Passed(redisproc.Replies) > answered })
		}
	}
}

// cause causes a fault. end is nil if it has no end.
func (p *play) cause(f fault.Fault) (end func()) {
	s := p.env
	if f.Process != "" {
		c := p.client(f.Process)
		switch f.Kind {
		case fault.Cut:
			v := s.server(f.Server)
			if f.Way == fault.Replies {
				lost := loseReply(s.ctx, c.link(v))
				return func() { s.event(v.name+"'s reply is lost", lost) }
			}
			c.link(v).Cut()
			c.isCut[f.Server] = true
			return func() {
				delete(c.isCut, f.Server)
				if c.link(v).Reopen(); s.cfg.Quorum.KeepAlive {
					s.awaitKey(true, v) // the next extension puts it there
				}
			}
		case fault.Pause:
			c.pause()
			c.stoppedUntil = f.At + f.For
			return c.cont
		}
		s.fail("live: no fault %s of clients", f.Kind)
	}
	v := s.server(f.Server)
	switch f.Kind {
	case fault.Hang:
		s.must(v.Pause())
		return func() { s.must(v.Resume()) }
	case fault.Lag:
		for i, r := range p.replicas[v] {
			if f.Replica == 0 || f.Replica == i+1 {
				r.lags = true
				r.link.Drop(redisproc.Replies)
			}
		}
		return nil
	}
	p.awaitGrants()
	switch f.Kind {
	case fault.Step:
		v.machine.jump(p.scaled(f.By))
	case fault.Restart:
		v.Kill()
		return func() { s.restart(v, f.Keep) }
	case fault.Failover:
		s.failOver(v, p.replicas[v], f.Replica-1)
	case fault.Flush:
		s.ask(v, "FLUSHALL")
	case fault.Evict:
		if s.cfg.Eviction != "" {
			s.fillMemory(v)
		} else {
			s.ask(v, "DEL", key)
		}
	default:
		s.fail("live: no fault %s of servers", f.Kind)
	}
	return nil
}

// awaitGrants waits until a lease is on all servers that its holder has asked, because a
// round can be won before the last reply.
func (p *play) awaitGrants() {
	for _, c := range p.performers {
		p.env.awaitKey(true, c.asked...)
		for _, v := range c.asked {
			for _, r := range p.replicas[v] {
				if !r.lags {
					p.env.awaitKey(true, r.server)
				}
			}
		}
		c.asked = nil
	}
}

// restart restarts a killed server with what was on its disk.
func (s *environment) restart(v *server, keep fault.Keep) {
	if keep != fault.KeepNothing {
		v.machine.stall(false)
		lost, err := v.machine.cutPower(v.Dir())
		s.must(err)
		s.say("%d bytes of its log were not on the disk", lost)
	}
	s.must(v.Restart(s.ctx))
	if keep == fault.KeepSecond && s.has(v) {
		s.fail("live: the vote is on the disk although the disk was stalled")
	}
}

// replica is a replica of a server, and the link to its master.
type replica struct {
	*server
	link *redisproc.Link
	lags bool
}

// startReplica starts a replica of a server and waits until it is up to date.
func (s *environment) startReplica(v *server, name string) *replica {
	link, err := redisproc.NewLink(v.Addr())
	s.must(err)
	s.closers = append(s.closers, func() { _ = link.Close() })
	r := &replica{server: s.startServer(name), link: link}
	host, port, err := net.SplitHostPort(link.Addr())
	s.must(err)
	s.ask(v, "CONFIG", "SET", "repl-diskless-sync-delay", "0")
	s.ask(r.server, "REPLICAOF", host, port)
	s.awaitInStep(r)
	return r
}

// awaitInStep waits until a replica is in sync with its master.
func (s *environment) awaitInStep(r *replica) {
	s.await(r.name+" is in sync with its master", func() bool {
		status, err := r.Info("master_link_status")
		return err == nil && status == "up"
	})
}

// failOver kills a server and promotes one of its replicas. The others replicate from it, as
// after any failover.
func (s *environment) failOver(v *server, replicas []*replica, promoted int) {
	v.Kill()
	master := replicas[promoted]
	s.ask(master.server, "REPLICAOF", "NO", "ONE")
	for _, r := range replicas {
		if r != master {
			r.link.Retarget(master.Addr())
			r.link.Reopen()
			s.awaitInStep(r)
			s.await("the new master has a replica", func() bool {
				n, err := master.Info("connected_slaves")
				return err == nil && n == "1"
			})
		}
	}
	for _, link := range v.links {
		link.Retarget(master.Addr())
	}
}
