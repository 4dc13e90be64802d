//go:build unix

package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Play is a schedule that was played, and what came of it.
type Play struct {
	Schedule Schedule      `json:"schedule"`
	TTL      time.Duration `json:"ttl_ns"`
	Findings []Finding     `json:"findings,omitempty"`
	History  []Entry       `json:"history,omitempty"`
	// Idle counts the steps that came to nothing, because their client had no lock.
	Idle int `json:"idle,omitempty"`
}

// kinds returns the kinds of its findings, the worst first.
func (p Play) kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return !slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Kind == k })
	})
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
	servers *servers
	key     string
	ttl     time.Duration
	began   time.Time
	play    *Play
	clients []*client
	resource
	// untidy: a fault may have left keys or a server that is young.
	untidy bool
}

// client is a client of a play.
type client struct {
	name   string
	driver *driver
	links  []*redisproc.Link
	// By a server's number: its link doesn't work both ways, something is held back at it,
	// and a trap, which is closed when it has caught something.
	shut, holdsBack []bool
	traps           []<-chan struct{}
	paused          bool
	dead            bool
	begun           int // the entry of a begins whose answer is missing, 0 for none

	lease    int // how many it has had
	got      int // the entry of the grant
	holds    bool
	token    uint64
	read     bool // it has read the resource under this lease, at this version
	version  int
	stopped  bool // it was paused since its last check, so that it may write without another one
	told     int  // losses that were told before this lease
	overtook bool // another client has asked for the lock and got it meanwhile
}

// plays plays a schedule once.
func (b *box) plays(ctx context.Context, schedule Schedule, ttl time.Duration) (p Play, err error) {
	select {
	case f := <-b.fleets:
		defer func() {
			if failed := f.heal(context.WithoutCancel(ctx)); failed != nil {
				err = errors.Join(err, failed)
			}
			b.fleets <- f
		}()
		p = Play{Schedule: schedule, TTL: ttl}
		s := &stage{ctx: ctx, box: b, servers: f, ttl: ttl, play: &p, began: time.Now()}
		s.key = fmt.Sprintf("box-%d", b.counter.Add(1))
		defer s.close()
		if err := s.open(); err != nil {
			return p, err
		}
		for _, step := range schedule {
			if err := s.take(step); err != nil {
				return p, err
			}
		}
		p.Findings = append(findingsIn(p.History), p.Findings...)
		return p, nil
	case <-ctx.Done():
		return Play{Schedule: schedule}, context.Cause(ctx)
	}
}

// open starts the schedule's clients, and has each of them lock and unlock another key, so that
// their connections are there, and so that a client that doesn't trust young servers does
// afterwards.
func (s *stage) open() error {
	for _, name := range s.play.Schedule.clients() {
		c := &client{name: name}
		s.clients = append(s.clients, c)
		var addrs []string
		for _, server := range s.servers.all {
			link, err := redisproc.NewLink(server.Addr())
			if err != nil {
				return err
			}
			c.links = append(c.links, link)
			addrs = append(addrs, link.Addr())
		}
		c.shut, c.holdsBack, c.traps = make([]bool, len(c.links)), make([]bool, len(c.links)), make([]<-chan struct{}, len(c.links))
		d, err := startDriver(name, s.box.options.Command)
		if err != nil {
			return err
		}
		c.driver = d
		if _, err := d.start(s.ctx, Request{Do: DoHello}); err != nil {
			return err
		}
		if _, err := d.start(s.ctx, Request{Do: DoOpen, Client: name, Servers: addrs, TTL: s.ttl.Milliseconds()}); err != nil {
			return err
		}
		if err := s.warmUp(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) warmUp(c *client) error {
	key := s.key + "-" + c.name
	a, err := s.wait(c, key, 10*s.ttl)
	if err != nil {
		return s.unanswered(c, err)
	}
	if !a.Held {
		return &DriverError{Client: c.name, Did: fmt.Sprintf("didn't get a free lock from healthy servers within %v: %s", 10*s.ttl, a.Why), Said: c.driver.errs.String()}
	}
	if _, err := c.driver.ask(s.ctx, Request{Do: DoRelease, Key: key}, answerLimit); err != nil {
		return s.unanswered(c, err)
	}
	return nil
}

// unanswered makes an error of a missing answer.
func (s *stage) unanswered(c *client, err error) error {
	if errors.Is(err, errNoAnswer) {
		return &DriverError{Client: c.name, Did: fmt.Sprintf("hasn't answered within %v though all servers work", answerLimit), Said: c.driver.errs.String()}
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

// now is the number of entries.
func (s *stage) now() int { return len(s.play.History) }

// note writes an entry.
func (s *stage) note(e Entry) Entry {
	e.Seq, e.At = s.now()+1, time.Since(s.began)
	s.play.History = append(s.play.History, e)
	return e
}

func (s *stage) found(kind Kind, format string, args ...any) {
	s.play.Findings = append(s.play.Findings, Finding{Kind: kind, Seq: s.now(), Text: fmt.Sprintf(format, args...)})
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
	if forms[step.Do] != clientFirst {
		s.note(Entry{Client: step.Client, What: wasFault, Words: step.String()})
		if c == nil {
			return s.toServers(step)
		}
		return s.toClient(step, c)
	}
	did, err := s.act(step.Do, c)
	if err == nil && !did {
		s.play.Idle++
	}
	if err == nil {
		err = s.listen()
	}
	return err
}

// act has a client do something. It reports whether that was possible.
func (s *stage) act(do verb, c *client) (did bool, err error) {
	if c.paused || c.dead || c.begun > 0 && do != ends {
		return false, nil
	}
	switch do {
	case waits, tries:
		if c.holds {
			return false, nil
		}
		return true, s.acquires(c, do)
	case begins, queues:
		if c.holds {
			return false, nil
		}
		return true, s.begins(c, do)
	case ends:
		if c.begun == 0 {
			return false, nil
		}
		return true, s.ends(c)
	}
	// A client that was stopped after its check writes whatever has become of its lease.
	if !c.holds && !(do == writes && c.stopped && c.read) {
		return false, nil
	}
	switch do {
	case checks:
		return true, s.checks(c)
	case extends:
		if !s.box.can(CanExtend) {
			return true, nil
		}
		return true, s.extends(c)
	case reads:
		s.reads(c)
	case writes:
		if !c.stopped {
			if err := s.checks(c); err != nil || !c.holds {
				return false, err
			}
		}
		s.writes(c)
	case works:
		if err := s.checks(c); err != nil || !c.holds {
			return false, err
		}
		s.reads(c)
		s.writes(c)
	case releases:
		return true, s.releases(c)
	}
	return true, nil
}

// acquires asks for the lock, and waits for it if the client waits.
func (s *stage) acquires(c *client, do verb) error {
	free, tidy, most := s.free(c), s.tidy(), time.Duration(0)
	if do == waits {
		most = patience * s.ttl
	}
	began, asked := time.Now(), s.note(Entry{Client: c.name, What: wasAsked, Words: string(do)})
	a, err := s.wait(c, s.key, most)
	took := time.Since(began)
	if errors.Is(err, errNoAnswer) {
		return s.hangs(c, do)
	}
	if err != nil {
		return err
	}
	s.slow(c, do, took, most)
	s.answered(c, a, asked.Seq)
	switch {
	case a.Held:
	case do == waits && free && s.works(c):
		s.found(NoProgress, "%s didn't get the lock in %v, which nobody held: %s", c.name, most, a.Why)
	case a.Why == WhyTaken && tidy:
		s.found(LeftBehind, "%s was refused as taken, after all holders had released the lock", c.name)
	case a.Why == WhyTaken && s.nobody() && !s.works(c):
		s.found(WrongReason, "%s was told that the lock is taken, which nobody held; a majority of the servers can't be reached", c.name)
	}
	return nil
}

// answered takes the answer to a request for the lock that began at an entry.
func (s *stage) answered(c *client, a Answer, began int) {
	if !a.Held {
		s.untidy = true // the keys of the try may still be there
		s.note(Entry{Client: c.name, Began: began, What: wasDenied, Words: a.Why})
		return
	}
	c.lease++
	c.holds, c.token, c.read, c.told, c.overtook = true, 0, false, c.driver.losses(), false
	if s.box.can(CanToken) {
		c.token = a.Token
	}
	c.got = s.note(Entry{Client: c.name, Lease: c.lease, Began: began, What: wasAcquired, Token: c.token}).Seq
	for _, o := range s.clients {
		// Whose request is older got a lease that may be over by now, and took nobody's.
		if o != c && o.holds && began >= o.got {
			o.overtook = true
		}
	}
}

// wait asks for a lock for as long as most: once, if it is 0. A client that can't wait asks
// again and again.
func (s *stage) wait(c *client, key string, most time.Duration) (Answer, error) {
	r := Request{Do: DoAcquire, Key: key, TTL: s.ttl.Milliseconds()}
	if s.box.can(CanWait) {
		r.Wait = most.Milliseconds()
		return c.driver.ask(s.ctx, r, most+answerLimit)
	}
	for until := time.Now().Add(most); ; {
		a, err := c.driver.ask(s.ctx, r, answerLimit)
		if err != nil || a.Held || !time.Now().Before(until) {
			return a, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
			return a, context.Cause(s.ctx)
		}
	}
}

// begins sends a request for the lock. It returns when the request, or its reply, is there where
// one is held back, or after half a TTL.
func (s *stage) begins(c *client, do verb) error {
	c.begun = s.note(Entry{Client: c.name, What: wasAsked, Words: string(do)}).Seq
	r := Request{Do: DoAcquire, Key: s.key, TTL: s.ttl.Milliseconds()}
	if do == queues && s.box.can(CanWait) {
		r.Wait = patience * r.TTL
	}
	if err := c.driver.send(r); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(s.ttl / 2); len(c.driver.answers) == 0 && time.Now().Before(deadline) && !s.caught(c); {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	return nil
}

// caught reports whether something is held back at each link of the client that holds
// something back.
func (s *stage) caught(c *client) bool {
	any := false
	for i, link := range c.links {
		if !c.holdsBack[i] || !s.servers.all[i].good() {
			continue
		}
		any = true
		if caught := c.traps[i]; caught != nil {
			select {
			case <-caught:
			default:
				return false
			}
		} else if link.Waiting(redisproc.Requests)+link.Waiting(redisproc.Replies) == 0 {
			return false
		}
	}
	return any
}

func (s *stage) ends(c *client) error {
	began := c.begun
	c.begun = 0
	a, err := c.driver.await(s.ctx, answerLimit)
	if errors.Is(err, errNoAnswer) {
		return s.hangs(c, begins)
	}
	if err != nil {
		return err
	}
	s.answered(c, a, began)
	return nil
}

// request sends a request about the client's lease. ok is false if the driver has not answered,
// which ends the client.
func (s *stage) request(c *client, do verb, r Request) (a Answer, ok bool, err error) {
	r.Key, r.TTL = s.key, s.ttl.Milliseconds()
	began := time.Now()
	a, err = c.driver.ask(s.ctx, r, answerLimit)
	if errors.Is(err, errNoAnswer) {
		return a, false, s.hangs(c, do)
	}
	if err == nil {
		s.slow(c, do, time.Since(began), 0)
	}
	return a, err == nil, err
}

func (s *stage) checks(c *client) error {
	began := s.now()
	c.stopped = false
	a, ok, err := s.request(c, checks, Request{Do: DoCheck})
	if !ok {
		return err
	}
	s.says(c, a, began)
	return nil
}

// says notes whether a client believes that it holds the lock.
func (s *stage) says(c *client, a Answer, began int) {
	what := wasValid
	if !a.Held {
		what, c.holds, s.untidy = wasOver, false, true // its keys may still be there
	}
	s.note(Entry{Client: c.name, Lease: c.lease, Began: began, What: what, Words: a.Why})
}

func (s *stage) extends(c *client) error {
	began := s.now()
	a, ok, err := s.request(c, extends, Request{Do: DoExtend})
	if !ok {
		return err
	}
	if a.Why == "" && !a.Held {
		a.Why = "not extended"
	}
	s.says(c, a, began)
	return nil
}

func says(yes bool, why string) string {
	if yes {
		return "yes"
	}
	return "no, " + why
}

func (s *stage) reads(c *client) {
	c.read, c.version = true, s.version
	s.note(Entry{Client: c.name, Lease: c.lease, Began: s.now(), What: wasRead, Token: c.token, Version: s.version, Found: s.version})
}

func (s *stage) writes(c *client) {
	e := Entry{Client: c.name, Lease: c.lease, Began: s.now(), What: wasWritten, Token: c.token, Version: c.version}
	switch {
	case !c.read:
		return
	case !s.admit(c.token):
		e.What = wasStale
	default:
		e.Found = s.write()
	}
	c.read = false
	s.note(e)
}

func (s *stage) releases(c *client) error {
	c.holds, c.read = false, false
	began, works := s.note(Entry{Client: c.name, Lease: c.lease, What: wasReleased}).Seq, s.works(c)
	a, ok, err := s.request(c, releases, Request{Do: DoRelease})
	if !ok {
		return err
	}
	s.note(Entry{Client: c.name, Began: began, What: wasSaid, Words: "released: " + says(a.Done, a.Why)})
	if a.Done && !works {
		s.found(UntrueRelease, "%s was told that its lock is released, though a majority of the servers can't be reached", c.name)
	}
	if !a.Done {
		s.untidy = true
	}
	return nil
}

// hangs ends a client that has not answered.
func (s *stage) hangs(c *client, do verb) error {
	s.note(Entry{Client: c.name, What: wasSaid, Words: fmt.Sprintf("nothing for %v, and was killed", answerLimit)})
	s.found(Slow, "%s %s: no answer in %v", c.name, do, answerLimit)
	s.dies(c)
	return nil
}

// slow judges how long an answer took.
func (s *stage) slow(c *client, do verb, took, wait time.Duration) {
	if took > wait+s.ttl+slack && s.works(c) {
		s.found(Slow, "%s %s: the answer came after %v, though a majority of the servers works", c.name, do, took.Round(100*time.Millisecond))
	}
}

// works reports whether a majority of the servers works for a client.
func (s *stage) works(c *client) bool {
	good := 0
	for i, server := range s.servers.all {
		if server.good() && !c.shut[i] {
			good++
		}
	}
	return good > len(s.servers.all)/2
}

// free reports whether the lock must become free for a client: a majority of the servers works,
// and whoever has the lock or asks for it can't renew it.
func (s *stage) free(c *client) bool {
	if !s.works(c) {
		return false
	}
	for _, o := range s.clients {
		if o != c && !o.dead && !o.paused && (o.holds || o.begun > 0) {
			return false
		}
	}
	return true
}

// nobody reports whether no client has the lock, or may have it.
func (s *stage) nobody() bool {
	return !slices.ContainsFunc(s.clients, func(o *client) bool { return o.holds || o.dead || o.begun > 0 })
}

// tidy reports whether nothing can stand in the way of a request: there was no fault, and nobody
// has the lock.
func (s *stage) tidy() bool { return !s.untidy && s.nobody() }

// listen notes which clients tell that their leases are lost, and waits for those that must.
func (s *stage) listen() error {
	for _, c := range s.clients {
		if !c.holds || c.paused || c.dead {
			continue
		}
		if s.box.can(CanTell) && c.overtook {
			if err := s.awaitLoss(c); err != nil {
				return err
			}
		}
		if c.driver.losses() > c.told {
			s.says(c, Answer{Why: "the client told that its lease is lost"}, s.now())
		}
	}
	return nil
}

func (s *stage) awaitLoss(c *client) error {
	c.overtook = false
	timer := time.NewTimer(tellWithin)
	defer timer.Stop()
	for c.driver.losses() == c.told {
		select {
		case <-c.driver.told:
		case <-c.driver.broken:
			return c.driver.failure()
		case <-timer.C:
			s.found(LossUntold, "%s hasn't told of its lost lease %v after another client had got the lock", c.name, tellWithin)
			return nil
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	return nil
}

// toClient carries out a fault of a client or its links, or ends it.
func (s *stage) toClient(step Step, c *client) error {
	s.untidy = true
	switch step.Do {
	case pause:
		if !c.paused && !c.dead {
			c.paused, c.stopped = true, true
			return c.driver.pause()
		}
	case resume:
		if c.paused && !c.dead {
			c.paused = false
			return errors.Join(c.driver.resume(), s.listen())
		}
	case kill:
		s.dies(c)
	default:
		for i := range c.links {
			if strings.ContainsRune(step.Servers, rune(letters[i])) {
				s.disturb(c, i, step.Do)
			}
		}
	}
	return nil
}

func (s *stage) dies(c *client) {
	if !c.dead {
		c.dead, c.holds, c.paused, c.begun, s.untidy = true, false, false, 0, true
		c.driver.kill()
	}
}

// disturb does something to a link.
func (s *stage) disturb(c *client, i int, do verb) {
	link := c.links[i]
	c.holdsBack[i] = do == delay || do == hold || do == trap
	switch do {
	case cut:
		link.Cut()
	case delay:
		link.Hold(redisproc.Requests)
	case hold:
		link.Hold(redisproc.Replies)
	case lose:
		link.Drop(redisproc.Replies)
	case trap:
		c.traps[i] = link.Trap(s.second())
	case free:
		link.Free(true)
		c.traps[i] = nil
	case heal:
		link.Reopen()
	}
	c.shut[i] = do != heal && do != free || c.traps[i] != nil
}

// second returns a function that reports whether a piece is the second with the lock's key.
func (s *stage) second() func(piece []byte) bool {
	seen := 0
	return func(piece []byte) bool {
		if bytes.Contains(piece, []byte(s.key)) {
			seen++
		}
		return seen == 2
	}
}

// toServers carries out a fault of servers, or ends it.
func (s *stage) toServers(step Step) error {
	s.untidy = true
	var errs []error
	for i, server := range s.servers.all {
		if !strings.ContainsRune(step.Servers, rune(letters[i])) {
			continue
		}
		switch step.Do {
		case hang:
			errs = append(errs, server.hangs())
		case wake:
			errs = append(errs, server.wakes())
		case stop:
			server.stops()
		case start:
			errs = append(errs, server.starts(s.ctx))
		case save:
			errs = append(errs, server.saves())
		case flush:
			errs = append(errs, server.flushes())
		}
	}
	return errors.Join(errs...)
}
