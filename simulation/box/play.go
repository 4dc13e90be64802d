//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// Play is a schedule that was played, and what came of it.
type Play struct {
	Schedule Schedule      `json:"schedule"`
	TTL      time.Duration `json:"ttl_ns"`
	// Servers is how many servers there were.
	Servers  int       `json:"servers,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Record is what happened, without any Truth. It is too long for a report; a replay shows it.
	Record record.Log `json:"-"`
	// Struck has what was done that struck, see Strikes.
	Struck map[verb]bool `json:"-"`
	// Idle counts the steps that came to nothing, because their client had no lock.
	Idle int `json:"idle,omitempty"`
	// Late says which step took so long that a lease may have run out meanwhile.
	Late string `json:"late,omitempty"`
}

// kinds returns the kinds of its findings, the worst first.
func (p Play) kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !p.shows(k) })
}

// shows reports whether it has a finding of the kind.
func (p Play) shows(kind Kind) bool {
	return slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Kind == kind })
}

// Limits of what is judged by a time. A busy machine is slow; these are far beyond that.
const (
	patience   = 4               // TTLs for which a client waits
	slack      = 2 * time.Second // beyond what an answer may take
	tellWithin = time.Second     // in which a client tells of a lost lease
)

// stage is a play in progress.
type stage struct {
	ctx     context.Context
	box     *box
	servers []*serverState
	key     string
	ttl     time.Duration
	play    *Play
	clients []*client
	history
	resource
	had   [len(letters)]int  // by server: the keys of the lock before the last step that can remove some
	saved [len(letters)]bool // by server: it has saved its data
	// untidy: a fault may have left keys or a server that is young.
	untidy bool
}

// client is a client of a play.
type client struct {
	name   string
	driver *clientProcess
	links  []*link // by a server's number
	paused bool
	dead   bool
	begun  uint64 // the number of the event that asked for an answer that is missing, 0 for none

	lease    int    // its number in the record
	leases   int    // how many it has had
	got      uint64 // the number of the event of the grant
	holds    bool
	left     bool // its lease was over, or not extended, and not given back: its keys may be there
	token    uint64
	read     bool // it has read the resource under this lease
	seen     content
	sent     *record.Event // a write that is on its way
	stopped  bool          // it was paused since its last check, so that it may write without another one
	told     int           // losses that were told before this lease
	overtook bool          // another client has asked for the lock and got it meanwhile
}

// link is a client's link to a server.
type link struct {
	*redisproc.Link
	shut      bool            // it doesn't work both ways
	holdsBack bool            // something is held back at it
	trap      <-chan struct{} // closed when the trap has caught something, nil without one
}

// plays plays a schedule once, on the first n servers. Its replicas come first, because a client may need
// them.
func (b *box) plays(ctx context.Context, schedule Schedule, ttl time.Duration, n int) (p Play, err error) {
	var f *servers
	select {
	case f = <-b.fleets:
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
	defer func() {
		err = errors.Join(err, f.heal(context.WithoutCancel(ctx)))
		b.fleets <- f
	}()
	p = Play{Schedule: schedule, TTL: ttl, Servers: n, Struck: map[verb]bool{}}
	s := &stage{ctx: ctx, box: b, servers: f.all[:n], ttl: ttl, play: &p, history: history{began: time.Now(), log: &p.Record}}
	s.key, s.writesAlone = fmt.Sprintf("box-%d-lock", b.counter.Add(1)), b.options.WritesAlone
	defer s.close()
	first := slices.IndexFunc(schedule, func(step Step) bool { return step.Do != follow })
	for i, step := range schedule {
		if i == first {
			if err := s.open(); err != nil {
				return p, err
			}
		}
		if err := s.take(step); err != nil {
			return p, err
		}
		if err := s.listen(); err != nil {
			return p, err
		}
	}
	p.Findings = append(findingsIn(p.Record), p.Findings...)
	return p, nil
}

// open starts the schedule's clients, and has each of them lock and unlock another key, so that
// their connections are there, and so that a client that doesn't trust young servers does
// afterwards.
func (s *stage) open() error {
	for _, name := range s.play.Schedule.clients() {
		c := &client{name: name}
		s.clients = append(s.clients, c)
		for _, server := range s.servers {
			l, err := redisproc.NewLink(server.Addr())
			if err != nil {
				return err
			}
			c.links = append(c.links, &link{Link: l})
		}
		if err := s.enter(c); err != nil {
			return err
		}
		if err := s.warmUp(c); err != nil {
			return err
		}
	}
	return nil
}

// enter starts a client's process.
func (s *stage) enter(c *client) error {
	d, err := startDriver(c.name, s.box.options)
	if err != nil {
		return err
	}
	c.driver = d
	if _, err := d.start(s.ctx, driver.Request{Do: driver.DoHello}); err != nil {
		return err
	}
	var addrs []string
	for _, link := range c.links {
		addrs = append(addrs, link.Addr())
	}
	_, err = d.start(s.ctx, driver.Request{Do: driver.DoOpen, Client: c.name, Servers: addrs, TTL: s.ttl.Milliseconds()})
	return err
}

// skippedError is why a play was skipped: a client did not get its first lock.
type skippedError struct{ error }

func (e skippedError) Unwrap() error { return e.error }

func (s *stage) warmUp(c *client) error {
	key := fmt.Sprintf("box-%d-%s", s.box.counter.Add(1), c.name)
	most := max(10*s.ttl, s.box.options.startLimit)
	until := time.Now().Add(most)
	var a driver.Answer
	var err error
	for err == nil && !a.Held { // again, because where a server is slow the client may miss that the lock is free
		if a, err = s.wait(c, key, s.ttl); err == nil && !a.Held && time.Now().After(until) {
			return skippedError{c.driver.did("didn't get a free lock from healthy servers within %v: %s", most, a.Why)}
		}
	}
	if err == nil {
		_, err = c.driver.ask(s.ctx, driver.Request{Do: driver.DoRelease, Key: key}, answerLimit)
	}
	if errors.Is(err, errNoAnswer) {
		return skippedError{c.driver.did("hasn't answered within %v though all servers work", answerLimit)}
	}
	return err
}

func (s *stage) close() {
	for _, c := range s.clients {
		for _, link := range c.links {
			link.Reopen()
		}
		if c.driver != nil && !c.dead {
			c.driver.end()
		}
		for _, link := range c.links {
			_ = link.Close()
		}
	}
}

// take carries out a step.
func (s *stage) take(step Step) error {
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	var c *client
	if i := slices.IndexFunc(s.clients, func(c *client) bool { return c.name == step.Client }); i >= 0 {
		c = s.clients[i]
	}
	defer s.clocks(step, c, time.Now())
	if forms[step.Do] != clientFirst {
		s.note(step.Client, record.Noted, "fault", step.String())
		if c == nil {
			return s.breaks(step)
		}
		if (step.Do == pause || step.Do == kill) && (c.holds || c.begun > 0) && !c.paused {
			s.strikes(step.Do)
		}
		return s.toClient(step, c)
	}
	met, late := s.meets(step, c), c.sent
	did, err := s.act(step.Do, c)
	if err == nil && !did {
		s.play.Idle++
		return nil
	}
	for _, do := range met {
		s.strikes(do)
	}
	if step.Do == lands && late.Lease < s.history.leases {
		s.strikes(sends)
	}
	if errors.Is(err, errNoAnswer) {
		s.hangs(c, step.Do)
		return nil
	}
	return err
}

// clocks notes a step that took half a TTL while a lease ran, if that isn't what the step waits for, nor
// the client's way with a fault.
func (s *stage) clocks(step Step, c *client, began time.Time) {
	took := time.Since(began)
	switch step.Do {
	case waits, gets, begins, queues, ends, await, gone:
		return
	}
	if took < s.ttl/2 || !slices.ContainsFunc(s.clients, func(c *client) bool { return c.holds }) {
		return
	}
	if forms[step.Do] == clientFirst && s.reach(c) < len(s.servers) {
		return
	}
	s.play.Late = fmt.Sprintf("%s took %v", step, took.Round(10*time.Millisecond))
}

// settle plays a schedule, again if the machine may have been too slow for it. What was found all the
// same stays, and is marked as late.
func settle(ttl time.Duration, play func(ttl time.Duration) (Play, error)) (Play, error) {
	p, err := play(ttl)
	for n := 0; err == nil && (n < retries && p.late() || n == 0 && p.starved()); n++ {
		ttl *= 2
		again, err := play(ttl)
		if err != nil || p.proved() && !again.proved() {
			return p, err
		}
		p = again
	}
	return p, err
}

// retries is how often a schedule is played again, each time with twice the TTL, if the machine may
// have been too slow for it.
const retries = 2

// late reports whether a lease may have run out because the machine was too slow, and whether that may
// have changed what happened.
func (p Play) late() bool { return p.Late != "" && (p.Idle > 0 || len(p.Findings) > 0) }

// starved reports whether a busy machine may be all that the play shows, and proved, whether it shows
// more: a driver's process that stands still after its client has got a lease answers when it is over.
func (p Play) starved() bool { return len(p.Findings) > 0 && !p.proved() }

func (p Play) proved() bool {
	return slices.ContainsFunc(p.Findings, func(f Finding) bool {
		return !slices.Contains([]Kind{NoProgress, LossUntold, OverOnArrival}, f.Kind)
	})
}
