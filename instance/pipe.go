package instance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// pipe sends what many goroutines want together. It has a queue of calls and a few links. A link that is
// idle takes all that waits and sends it as one pipeline. So a single request is sent at once, and a busy
// instance needs one system call where each caller would need its own.
type pipe struct {
	r      *Redis
	reader *drift.Reader
	ctx    context.Context // ends with the pipe
	cancel context.CancelFunc
	trip   atomic.Int64 // the quickest exchange, in nanoseconds; 0: unknown
	usable atomic.Bool  // a request need not wait for a connection

	mu      sync.Mutex
	queue   [ranks][]*call
	links   []*link
	idle    []*link     // of these, the last one first
	attempt *attempt    // nil while no connection is made
	dialErr error       // of the last attempt, if it failed
	redial  time.Time   // no connection is made before
	timer   *time.Timer // calls expire
	next    time.Time   // when it does so; zero: it doesn't
	patient bool        // it was late the last time
	warmer  *time.Timer // renews the connection
	last    time.Time   // when a call came last
	closed  bool
}

// attempt is one to connect.
type attempt struct {
	ended chan struct{}
	err   error
}

const (
	// maxBatch bounds the calls of a pipeline, because a server does nothing else meanwhile.
	maxBatch = 64
	// maxWaiting bounds the acquisitions that wait to be sent.
	maxWaiting = 4096
	// There is one pipeline under way for each linkEvery of the distance, and maxLinks at most. A near server
	// carries out one after the other, and fewer that are longer cost both sides less (measured: with one instead
	// of three a third more locks a second for 16 workers, a tenth for 128). With a distant one a call that finds
	// all of them under way would wait for a part of a round trip.
	linkEvery = 500 * time.Microsecond
	maxLinks  = 8
	// slow is how long what keeps or deletes a lease waits behind other requests. A pipeline takes a near
	// server about a millisecond, and three when all share two busy processors.
	slow = 20 * time.Millisecond
	// redialPause is the least time between two attempts to connect, and renewPause that between two to
	// renew a connection that works.
	redialPause = 50 * time.Millisecond
	renewPause  = 250 * time.Millisecond
	// keepWarm is how long after its last call an instance keeps a connection. A Coordinator's clock
	// monitor calls more often, so that a lock after a pause of any length takes one round trip.
	keepWarm = time.Minute
	// stoodStill is how late a timer is when this process stood still, and how long it then has to read what
	// came meanwhile.
	stoodStill = 3 * time.Millisecond
)

func (p *pipe) init(r *Redis) {
	p.r, p.reader = r, drift.SystemReader()
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.timer, p.warmer = stopped(p.expire), stopped(p.warm)
}

// stopped makes a timer that hasn't been started.
func stopped(do func()) *time.Timer {
	t := time.AfterFunc(time.Hour, do)
	t.Stop()
	return t
}

// enter takes in a call.
func (p *pipe) enter(c *call, now time.Time) {
	p.mu.Lock()
	if err := p.rejectsLocked(c, now); err != nil {
		p.mu.Unlock()
		c.to.Receive(wire.Vote{Unsent: true, Err: err})
		return
	}
	p.last = now
	rank := c.rank()
	p.queue[rank] = append(p.queue[rank], c)
	p.watchLocked(c.deadline)
	wake := p.startLocked(now)
	p.mu.Unlock()
	wake.rouse()
}

// rejectsLocked is why a call isn't taken, nil if it is.
func (p *pipe) rejectsLocked(c *call, now time.Time) error {
	switch {
	case p.closed:
		return ErrClosed
	case len(p.links) == 0 && p.attempt == nil && p.dialErr != nil && now.Before(p.redial):
		return p.dialErr // as a moment ago
	case c.rank() == rankAcquire && len(p.queue[rankAcquire]) >= maxWaiting:
		return fmt.Errorf("%w: %d requests wait to be sent to %s", wire.ErrOverloaded, maxWaiting, p.r.name)
	}
	return nil
}

// most is how many pipelines may be under way at once.
func (p *pipe) most() int {
	if p.r.cfg.Replicas > 0 {
		return maxLinks
	}
	return min(1+int(time.Duration(p.trip.Load())/linkEvery), maxLinks)
}

// startLocked has the queue's first calls sent: by an idle link, which the caller has to wake, or by one more.
func (p *pipe) startLocked(now time.Time) (wake *link) {
	held := len(p.queue[rankKeep]) + len(p.queue[rankRelease])
	if held+len(p.queue[rankAcquire]) == 0 {
		return nil
	}
	switch busy := len(p.links) - len(p.idle) - p.most(); {
	case busy > 0, busy == 0 && held == 0:
		return nil
	case busy == 0:
		//guard:held-have-a-link  what keeps or deletes a lease doesn't wait behind acquisitions that a slow server hasn't answered
		if late := p.oldestLocked().Add(slow); now.Before(late) {
			p.watchLocked(late)
			return nil
		}
	}
	for len(p.idle) > 0 {
		l := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !l.tooOld() {
			return l
		}
		p.dropLocked(l)
	}
	// One that has just given its votes is about to take what waits.
	awake := func(l *link) bool { return len(l.calls) == 0 && !l.retired }
	if !now.Before(p.redial) && !slices.ContainsFunc(p.links, awake) {
		p.connectLocked()
	}
	return nil
}

// oldestLocked is when the first of the pipelines under way began.
func (p *pipe) oldestLocked() (oldest time.Time) {
	for _, l := range p.links {
		if len(l.calls) > 0 && (oldest.IsZero() || l.began.Before(oldest)) {
			oldest = l.began
		}
	}
	return oldest
}

// connectLocked has another link made.
func (p *pipe) connectLocked() {
	if p.attempt != nil || p.closed {
		return
	}
	p.attempt = &attempt{ended: make(chan struct{})}
	go func() { p.took(p.connect(p.ctx)) }()
}

// took takes in a new link, or why there is none.
func (p *pipe) took(l *link, err error) {
	var over []*call
	p.mu.Lock()
	now := time.Now()
	a := p.attempt
	p.attempt, a.err = nil, err
	switch {
	case p.closed:
		if err == nil {
			_ = l.conn.Close()
		}
	case err == nil:
		if len(p.links) == 0 {
			p.r.loaded.Store(0) // the server may be another one, or have been restarted
		}
		p.dialErr = nil
		p.links = append(p.links, l)
		p.idle = append(p.idle, l)
		go l.run()
		p.replaceLocked(l)
	default:
		p.dialErr, p.redial = err, now.Add(redialPause)
		if len(p.links) > 0 {
			p.warmer.Reset(renewPause)
		} else {
			over = p.allLocked()
		}
	}
	p.usable.Store(len(p.links) > 0 || p.dialErr != nil)
	wake := p.startLocked(now)
	p.mu.Unlock()
	close(a.ended)
	wake.rouse()
	give(over, err)
}

// removeLocked takes out a link that is used no more.
func (p *pipe) removeLocked(l *link) {
	is := func(other *link) bool { return other == l }
	p.links, p.idle = slices.DeleteFunc(p.links, is), slices.DeleteFunc(p.idle, is)
	p.usable.Store(len(p.links) > 0)
}

// dropLocked ends an idle link.
func (p *pipe) dropLocked(l *link) {
	p.removeLocked(l)
	close(l.wake)
}

// replaceLocked ends links that grow old: all that are idle, or else one that is busy, in whose place the
// newest one comes. If more of them are busy it has another one made.
func (p *pipe) replaceLocked(newest *link) {
	replaced := false
	next := (p.r.lifetime() - newest.age()) / 2
	for _, l := range slices.Clone(p.links) {
		switch {
		case l == newest || l.retired || l.age() < p.r.renewAfter():
		case slices.Contains(p.idle, l):
			p.dropLocked(l)
			replaced = true
		case !replaced:
			l.retired, replaced = true, true
		default:
			next = 0
		}
	}
	p.warmer.Reset(next)
}

// allLocked empties the queue.
func (p *pipe) allLocked() (all []*call) {
	for rank := range p.queue {
		for _, c := range p.queue[rank] {
			c.voted = true
		}
		all = append(all, p.queue[rank]...)
		p.queue[rank] = nil
	}
	return all
}

// give gives calls without an answer their votes.
func give(over []*call, why error) {
	for _, c := range over {
		c.to.Receive(c.ended(why))
	}
}

// warm makes another link in place of the one that grows old. Until there is one, the old one is used.
func (p *pipe) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case time.Since(p.last) < keepWarm:
		p.connectLocked()
	default:
		for _, l := range slices.Clone(p.idle) {
			p.dropLocked(l)
		}
	}
}

// take gives a link the calls that it is to send, in the order of their ranks. end says that the link is to
// end instead.
func (p *pipe) take(l *link) (calls []*call, end bool) {
	runtime.Gosched() // others that are about to send get into this pipeline
	var late []*call
	p.mu.Lock()
	now := time.Now()
	if p.closed || l.retired || l.tooOld() {
		p.removeLocked(l)
		wake := p.startLocked(now)
		p.mu.Unlock()
		wake.rouse()
		return nil, true
	}
	calls = l.calls[:0]
	busy := len(p.links) - len(p.idle)
	full := false
	for rank := range p.queue {
		if rank == rankAcquire && busy > p.most() {
			break // this link is for what is held
		}
		queue := p.queue[rank]
		rest := queue[:0]
		for i, c := range queue {
			if full || len(calls) == maxBatch {
				rest = append(rest, queue[i:]...)
				break
			}
			switch {
			case !c.stale.IsZero() && now.After(c.stale) && !c.looks:
				c.voted = true
				late = append(late, c)
			case len(calls) > 0 && (c.alone || p.r.cfg.Replicas > 0 && c.replicated() != calls[0].replicated()):
				rest = append(rest, c)
			default:
				c.written = true
				calls = append(calls, c)
				full = c.alone
			}
		}
		clear(queue[len(rest):])
		p.queue[rank] = rest
	}
	if l.calls, l.began = calls, now; len(calls) == 0 {
		p.idle = append(p.idle, l)
	}
	p.mu.Unlock()
	give(late, errLate)
	return calls, false
}

// finish gives the votes of a link's calls, or has them sent once more. err is why the link can't be used any
// more.
func (p *pipe) finish(l *link, err error) {
	p.mu.Lock()
	due := l.due[:0]
	for _, c := range l.calls {
		switch again := c.again || c.looks; {
		case c.voted:
			continue
		case again:
			//guard:again-did-nothing  a request that is sent once more, because the server did nothing, is unsent until then
			if c.again, c.written = false, false; c.looks {
				c.refusal = c.vote
			}
			if !p.closed {
				p.queue[c.rank()] = slices.Insert(p.queue[c.rank()], 0, c)
				continue
			}
			c.vote = c.ended(ErrClosed)
		}
		c.voted = true
		due = append(due, c)
	}
	clear(l.calls)
	l.calls, l.due = l.calls[:0], due
	var wake *link
	if err != nil {
		p.redial = time.Time{}
		if p.removeLocked(l); isTimeout(err) {
			p.usable.Store(true) // waiting for a server that hangs wouldn't help
		}
		wake = p.startLocked(time.Now())
	}
	p.mu.Unlock()
	wake.rouse()
	for _, c := range due {
		c.to.Receive(c.vote)
		*c = call{}
		p.r.calls.Put(c)
	}
	clear(due)
}

// watchLocked has the timer look for calls whose time is over, or that have waited behind others for long enough.
func (p *pipe) watchLocked(deadline time.Time) {
	if deadline.IsZero() || !p.next.IsZero() && !deadline.Before(p.next) {
		return
	}
	p.next = deadline
	p.timer.Reset(time.Until(deadline))
}

// expire gives a vote to each call whose time is over, and has what is held sent on another link. The timer
// calls it at the first deadline of all calls, and when the oldest pipeline becomes slow (startLocked).
func (p *pipe) expire() {
	var over []*call
	p.mu.Lock()
	now := time.Now()
	// If this process stood still, replies that have come wait to be read.
	p.patient = !p.patient && !p.next.IsZero() && now.Sub(p.next) > stoodStill
	p.next = time.Time{}
	isOver := func(c *call) bool {
		if !c.voted && !c.deadline.IsZero() && !now.Before(c.deadline) {
			c.voted = true
			over = append(over, c)
		}
		if !c.voted {
			p.watchLocked(c.deadline)
		}
		return c.voted
	}
	for rank := range p.queue {
		p.queue[rank] = slices.DeleteFunc(p.queue[rank], isOver)
	}
	for _, l := range p.links {
		for _, c := range l.calls {
			if p.patient && !c.voted {
				p.watchLocked(now.Add(stoodStill))
			} else {
				isOver(c)
			}
		}
	}
	wake := p.startLocked(now)
	p.mu.Unlock()
	wake.rouse()
	give(over, errLate)
}

// noteTrip notes how long an exchange took.
func (p *pipe) noteTrip(took time.Duration) {
	if best := p.trip.Load(); best == 0 || int64(took) < best {
		p.trip.Store(int64(took))
	}
}

// close ends the links and all calls that wait. Those that were sent end with their answer or their time.
func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	over := p.allLocked()
	p.cancel()
	p.warmer.Stop()
	p.mu.Unlock()
	give(over, ErrClosed)
}

// Connected reports whether Connect has nothing to wait for, see wire.Connector.
func (r *Redis) Connected() bool { return r.pipe.usable.Load() }

// Connect waits for a connection, see wire.Connector: for the client's DialTimeout at most.
func (r *Redis) Connect(ctx context.Context) error {
	p := &r.pipe
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	if len(p.links) > 0 {
		p.mu.Unlock()
		return nil
	}
	p.last = time.Now()
	p.connectLocked()
	a := p.attempt
	p.mu.Unlock()
	select {
	case <-a.ended:
		return a.err
	case <-ctx.Done():
		return contextEnded(ctx)
	}
}

// RoundTrip is the shortest time that a small exchange takes, see wire.Connector.
func (r *Redis) RoundTrip() time.Duration { return time.Duration(r.pipe.trip.Load()) }
