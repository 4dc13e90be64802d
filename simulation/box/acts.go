//go:build unix

package box

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/box/driver"
	"github.com/redquorum/redlock/simulation/record"
)

// act has a client do something. It reports whether that was possible.
func (s *stage) act(do verb, c *client) (did bool, err error) {
	if do == lands {
		late := c.sent
		c.sent = nil
		if late != nil && late.Lease < s.history.leases {
			s.play.Struck[sends] = true
		}
		return s.executes(late), nil
	}
	asks := slices.Contains([]verb{waits, gets, tries, begins, queues}, do)
	if c.paused || c.dead || (c.begun > 0) != (do == ends) || asks && c.holds {
		return false, nil
	}
	switch do {
	case waits, gets, tries:
		return true, s.acquires(c, do)
	case begins, queues:
		return true, s.begins(c, do)
	case ends:
		return true, s.ends(c)
	}
	// A client that was stopped after its check writes whatever has become of its lease.
	if !c.holds && !((do == writes || do == sends) && c.stopped && c.read) {
		return false, nil
	}
	if c.sent != nil && (do == sends || c.sent.Lease == c.lease && (do == reads || do == writes || do == works)) {
		return false, nil // it waits for its write
	}
	switch do {
	case checks:
		return true, s.checks(c)
	case extends:
		if !s.hello.Has(driver.CanExtend) {
			return true, nil
		}
		return true, s.extends(c)
	case reads:
		s.reads(c)
	case writes, sends, works:
		if !c.stopped || do == works {
			if err := s.checks(c); err != nil || !c.holds {
				return false, err
			}
		}
		if do == works {
			s.reads(c)
		}
		if write := s.sends(c); do == sends {
			c.sent = write
		} else {
			s.executes(write)
		}
	case releases:
		return true, s.releases(c)
	}
	return true, nil
}

// acquires asks for the lock, and waits for it if the client waits.
func (s *stage) acquires(c *client, do verb) error {
	free, tidy, most := s.free(c), s.tidy(), time.Duration(0)
	switch do {
	case waits:
		most = s.patience()
	case gets:
		most, free = s.ttl/3, true
	}
	began, asked := time.Now(), s.asks(c, do)
	a, err := s.wait(c, s.key, most)
	took := time.Since(began)
	if err != nil {
		return err
	}
	s.judgesTime(c, do, took, most)
	s.answered(c, a, asked)
	switch {
	case do != tries && free:
		forever, why := !a.Held && s.everlasting(), a.Why
		if a.Held {
			why = fmt.Sprintf("it took %v", took.Round(100*time.Millisecond))
		}
		s.judges(NeverFree, forever, "%s didn't get the lock in %v, which nobody held, and whose key has no expiry: %s", c.name, most, why)
		s.judges(NoProgress, !forever && (!a.Held || do == gets && took > most), "%s didn't get the lock in %v, which nobody held: %s", c.name, most, why)
	case tidy:
		s.judges(LeftBehind, !a.Held && a.Why == driver.WhyTaken, "%s was refused as taken, after all holders had released the lock", c.name)
	case !a.Held && s.nobody() && !s.works(c):
		s.judges(WrongReason, a.Why == driver.WhyTaken, "%s was told that the lock is taken, which nobody held; a majority of the servers can't be reached", c.name)
	}
	return nil
}

// patience is for how long a client waits for the lock.
func (s *stage) patience() time.Duration {
	return patience*s.ttl + time.Duration(s.hello.Distrusts)*time.Millisecond
}

// asks notes that a client asks for the lock, and returns the event's number.
func (s *stage) asks(c *client, do verb) uint64 {
	e := s.note(c.name, record.Asked, "asks for the lock", string(do))
	e.Goroutine = goroutine(c.leases + 1)
	return e.N
}

// answered takes the answer to a request for the lock.
func (s *stage) answered(c *client, a driver.Answer, asked uint64) {
	if !a.Held {
		s.untidy = true // the keys of the try may still be there
		s.note(c.name, record.Refused, "doesn't get the lock", a.Why)
		return
	}
	s.history.leases++
	c.leases++
	c.lease, c.holds, c.left, c.token, c.read, c.told, c.overtook = s.history.leases, true, false, 0, false, c.driver.losses.Load(), false
	if s.hello.Has(driver.CanToken) {
		c.token = a.Token
	}
	c.got = s.of(c, record.Acquired, "has the lock", granted(c.driver, a, s.ttl)).N
	s.play.Struck[waits] = true
	if a.Left != nil {
		s.judges(OverOnArrival, *a.Left <= 0, "%s was told that it has the lock, with %.0f ms left", c.name, *a.Left)
		// A client that waited got its lease later than it was asked for, so the time of its answer bounds nothing.
		s.judges(TooLong, *a.Left > float64(s.ttl.Milliseconds())+1, "%s was told that it has the lock, with %.0f ms left, though its TTL is %v", c.name, *a.Left, s.ttl)
	}
	for _, o := range s.clients {
		// If the request is older than the other lease, it may have been granted first, and has displaced nobody.
		if o != c && o.holds && asked >= o.got {
			o.overtook = true
		}
	}
}

// longerThanTTL is in the Words of a grant that came too late: its lease was over, if it counts from the request.
const longerThanTTL = "longer than the TTL"

// granted says how much of a lease is left, as its client says, and when the answer came. A client that waits for the
// lock may have asked its servers again meanwhile, so its answer is never too late.
func granted(d *clientProcess, a driver.Answer, ttl time.Duration) string {
	took := d.came.Sub(d.asked)
	words := fmt.Sprintf("%.2fs after its request", took.Seconds())
	if a.Left != nil {
		words = fmt.Sprintf("with %.3fs left, ", *a.Left/1000) + words
	}
	if took > ttl && !d.waits {
		words += fmt.Sprintf(", %s of %v", longerThanTTL, ttl)
	}
	return words
}

// wait asks for a lock for as long as most: once, if it is 0. A client that can't wait asks
// again and again.
func (s *stage) wait(c *client, key string, most time.Duration) (driver.Answer, error) {
	r := driver.Request{Do: driver.DoAcquire, Key: key, TTL: s.ttl.Milliseconds()}
	if s.hello.Has(driver.CanWait) {
		r.Wait, most = most.Milliseconds(), 0
	}
	for until := time.Now().Add(most); ; {
		a, err := c.driver.ask(s.ctx, r, time.Duration(r.Wait)*time.Millisecond+answerLimit)
		if err == nil && !a.Held && a.Why == "" {
			err = c.driver.did(`answered acquire with neither "held":true nor a "why"`)
		}
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
	c.begun = s.asks(c, do)
	r := driver.Request{Do: driver.DoAcquire, Key: s.key, TTL: s.ttl.Milliseconds()}
	if do == queues && s.hello.Has(driver.CanWait) {
		r.Wait = s.patience().Milliseconds()
	}
	if err := c.driver.send(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.ttl/2)
	defer cancel()
	_ = until(ctx, func() bool { return len(c.driver.answers) > 0 || s.caught(c) })
	return context.Cause(s.ctx)
}

// caught reports whether something is held back at each link of the client that holds
// something back.
func (s *stage) caught(c *client) bool {
	any := false
	for i, link := range c.links {
		if link.holdsBack() && s.servers[i].good() {
			any = true
			if !link.caught() {
				return false
			}
		}
	}
	return any
}

func (s *stage) ends(c *client) error {
	asked := c.begun
	c.begun = 0
	a, err := c.driver.await(s.ctx, answerLimit)
	if err == nil {
		s.answered(c, a, asked)
	}
	return err
}

// request sends a request about the client's lease.
func (s *stage) request(c *client, do verb, what string) (driver.Answer, error) {
	began := time.Now()
	a, err := c.driver.ask(s.ctx, driver.Request{Do: what, Key: s.key, TTL: s.ttl.Milliseconds()}, answerLimit)
	if err == nil {
		s.judgesTime(c, do, time.Since(began), 0)
	}
	return a, err
}

func (s *stage) checks(c *client) error {
	c.stopped = false
	a, err := s.request(c, checks, driver.DoCheck)
	if err == nil {
		s.says(c, a)
	}
	return err
}

// says notes whether a client believes that it holds the lock.
func (s *stage) says(c *client, a driver.Answer) {
	if a.Held {
		s.of(c, record.Looked, "finds its lease valid", a.Why).Validity = 1
		return
	}
	c.holds, c.left, s.untidy = false, true, true
	s.of(c, record.Released, findsOver, a.Why)
}

func (s *stage) extends(c *client) error {
	s.note(c.name, record.Noted, "asks to extend", "")
	a, err := s.request(c, extends, driver.DoExtend)
	if err != nil {
		return err
	}
	if a.Why == "" && !a.Held {
		a.Why = "not extended"
	}
	s.says(c, a)
	return nil
}

func (s *stage) reads(c *client) {
	e := s.access(c, record.Read, "read")
	if s.writesAlone || s.admit(c.token) {
		c.read, c.seen = true, s.content
		e.Value, e.Version = int64(s.value), uint64(s.version)
	} else {
		e.Words = refused
	}
	s.executed(e)
}

// sends returns the write that follows from what the client has read, nil if it has read nothing.
func (s *stage) sends(c *client) *record.Event {
	if !c.read {
		return nil
	}
	e := s.access(c, record.Write, "wrote")
	e.Value, e.AsOf = int64(c.seen.value+1), uint64(c.seen.version)
	c.read = false
	return &e
}

// executes has the resource execute a write, if there is one.
func (s *stage) executes(e *record.Event) bool {
	if e == nil {
		return false
	}
	if s.admit(uint64(e.Token)) {
		s.content = content{value: int(e.Value), version: s.version + 1}
		e.Version = uint64(s.version)
	} else {
		e.Words = refused
	}
	s.executed(*e)
	return true
}

func (s *stage) releases(c *client) error {
	c.holds, c.left, c.read = false, false, false
	works := s.works(c)
	s.of(c, record.Released, "asks to release", "")
	a, err := s.request(c, releases, driver.DoRelease)
	if err != nil {
		return err
	}
	said := "released: yes"
	if !a.Done {
		s.untidy, said = true, "released: no, "+a.Why
	}
	s.note(c.name, record.Noted, "says", said)
	if !works {
		s.judges(UntrueRelease, a.Done, "%s was told that its lock is released, though a majority of the servers can't be reached", c.name)
	}
	return nil
}

// hangs ends a client that has not answered.
func (s *stage) hangs(c *client, do verb) {
	s.note(c.name, record.Noted, "says", fmt.Sprintf("nothing for %v, and was killed", answerLimit))
	s.judges(NoAnswer, true, "%s %s: no answer in %v", c.name, do, answerLimit)
	s.dies(c)
}
