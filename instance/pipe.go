package instance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// pipe brings the commands of many callers to one server. A lone command goes out
// at once; what is asked while an exchange is under way waits, and goes out
// together as the next one, with what is asked until a goroutine gets to it. So a busy instance pays for one system call where
// many callers each would, and a quiet one doesn't wait.
//
// What a server that is slow, hung or gone may cost is bounded here:
//
//   - exchanges, each a goroutine and a connection, by maxFlying, and by one while
//     the last of them was not answered in time, unless many leases are to be kept;
//   - acquisitions and hints that wait for such a server, by maxWaiting: the rest fails
//     at once;
//   - dials, to one in dialPause after one that failed: until then everything
//     fails at once, with that dial's error.
type pipe struct {
	r *Redis

	mu      sync.Mutex
	waiting line
	flying  []*batch // the exchanges under way
	spare   []*batch
	timed   []*call         // the calls of Send that have not ended
	parked  []chan struct{} // the goroutines that have nothing to do
	called  int             // goroutines on their way to make an exchange
	busy    time.Time       // when the last of them had something to do
	sick    bool            // the last exchange that ended was not answered in time
	several atomic.Bool     // the last exchange was several callers'
	closed  time.Time
	refusal error         // why the last dial failed, until closed
	trip    time.Duration // what a small exchange takes, at best

	timer *time.Timer // for the deadlines of timed and flying
	due   time.Time   // when it fires, zero if it isn't set
	over  bool        // the instance was closed
	met   bool        // something was sent once, so that what answers speaks TLS if it has to
}

const (
	// maxBatch is how many calls go out together.
	maxBatch = 256
	// maxFlying bounds the exchanges under way.
	maxFlying = 8
	// crowd is how many must wait for it to be worth a second exchange beside the
	// first, with a server near by.
	crowd = 256
	// crowdKept is the same for what keeps leases, also while the server is late. Where
	// every processor is busy an exchange takes long for want of one, and not for what is
	// in it: then one after the other would not be enough for many leases.
	crowdKept = 64
	// farAway is the round trip from which on waiting for the exchange under way
	// takes longer than an exchange of one's own costs.
	farAway = 5 * time.Millisecond
	// maxWaiting is how many calls for what is wanted wait for a server that is late.
	maxWaiting = 4 * maxBatch
	// idle is how long a goroutine is kept that has nothing to do.
	idle = 100 * time.Millisecond
	// grace is how long an exchange is waited for after the last of its calls has
	// timed out. Its answers are of no use any more, but its connection is: a busy
	// machine on which each late answer cost a new connection would be busier still,
	// with a handshake and a Probe for each. And a server that hung is back with its
	// first answer, before anything is dialed.
	grace = 250 * time.Millisecond
	// dialPause is how long nothing is dialed after a dial that failed.
	dialPause = 50 * time.Millisecond
)

var (
	errSick   = fmt.Errorf("%w: it did not answer the last ones in time, and as many as are let wait for it do", wire.ErrOverloaded)
	errLate   = fmt.Errorf("instance: no answer in time: %w", context.DeadlineExceeded)
	errUnsent = fmt.Errorf("instance: it could not be sent in time: %w", context.DeadlineExceeded)
	errSilent = fmt.Errorf("instance: no TLS handshake was answered yet; if the port doesn't speak TLS, use its tls-port, or redis:// for this one: %w", context.DeadlineExceeded)
)

// enter puts a call in the queue; or gives its vote, if it can't be sent now.
func (p *pipe) enter(c *call) (refused wire.Vote, ok bool) {
	p.mu.Lock()
	if why := p.refuseLocked(c); why != nil {
		p.mu.Unlock()
		return wire.Vote{Unsent: true, Err: why}, false
	}
	c.stage = waiting
	if !c.probing {
		c.at = len(p.timed)
		p.timed = append(p.timed, c)
		p.armLocked(c.deadline)
	}
	p.waiting.add(c)
	due := p.dueLocked()
	var runner chan struct{}
	if due {
		p.called++
		if last := len(p.parked) - 1; last >= 0 {
			runner, p.parked = p.parked[last], p.parked[:last]
		}
	}
	p.mu.Unlock()
	switch {
	case !due:
	case runner != nil:
		runner <- struct{}{} // has room for it
	default:
		go p.run()
	}
	return wire.Vote{}, true
}

func (p *pipe) refuseLocked(c *call) error {
	if p.refusal != nil {
		if time.Now().Before(p.closed) {
			return p.refusal
		}
		p.refusal = nil
	}
	// What is held isn't counted: there is one command for each lease at the most.
	//guard:late-instance-keeps  an instance that is late turns away acquisitions, not extensions
	if p.sick && c.rank() == wanting && p.waiting.wanted() >= maxWaiting {
		return errSick
	}
	return nil
}

// dueLocked reports whether it is time for an exchange of those in front of the queue.
// What is wanted leaves one exchange to what is held: with a server far away each may take
// long.
func (p *pipe) dueLocked() bool {
	n, most := len(p.flying)+p.called, maxFlying
	//guard:exchange-for-the-held  acquisitions leave one exchange free for extensions and releases
	if p.waiting.len() == p.waiting.wanted() {
		most--
	}
	near := p.trip < farAway && p.r.cfg.Replicas == 0 // a WAIT holds a connection up
	switch {
	case p.waiting.len() == 0, n >= most:
		return false
	//guard:extensions-in-crowds  many extensions don't wait until a late server has answered the exchange before
	case n == 0 || p.waiting.keeping() >= crowdKept*n:
		return true
	case p.sick || near && p.waiting.len() < crowd*n:
		return false
	}
	return true
}

// departLocked makes an exchange of those in front of the queue; nil if none of them is
// worth sending any more.
func (p *pipe) departLocked() *batch {
	var b *batch
	if last := len(p.spare) - 1; last >= 0 {
		b, p.spare = p.spare[last], p.spare[:last]
	} else {
		b = &batch{pipe: p}
		b.lifetime.done = make(chan struct{})
	}
	b.sealed, b.dropped, b.refused, b.began = false, false, nil, time.Now()
	p.boardLocked(b)
	if len(b.calls) == 0 {
		p.spare = append(p.spare, b)
		return nil
	}
	limited := true
	b.lifetime.deadline = time.Time{}
	for _, c := range b.calls {
		c.stage, c.in = aboard, b
		limited = limited && !c.deadline.IsZero()
		if c.deadline.After(b.lifetime.deadline) {
			b.lifetime.deadline = c.deadline
		}
	}
	if limited {
		b.lifetime.deadline = b.lifetime.deadline.Add(grace)
		p.armLocked(b.lifetime.deadline)
	} else {
		b.lifetime.deadline = time.Time{}
	}
	p.flying = append(p.flying, b)
	p.several.Store(len(b.calls) > 1)
	return b
}

// boardLocked moves calls from the queue to the batch. With replicas to wait for,
// those that do don't hold up those that don't.
//
// An acquisition or an extension that has waited for half of its time-out is left behind:
// what is sent so late is mostly given up before its answer comes, and an acquisition must
// be deleted again. So a machine that can't keep up spends what it has on those that can
// still be served, and doesn't do everything in vain. The vote fails at its deadline,
// unsent; not before, which would only bring the next try.
func (p *pipe) boardLocked(b *batch) {
	p.waiting.dropStale(b.began)
	b.calls = p.waiting.take(b.calls[:0], p.r.cfg.Replicas > 0)
}

// run carries out exchanges. It ends when there was nothing to do for a while, or
// the instance is closed; each exchange ends by its deadline, or Options.ReadTimeout.
//
// A goroutine for each exchange would be simpler, but costs a fifth more: go-redis
// goes deep, and each new stack is copied several times on the way.
func (p *pipe) run() {
	own := make(chan struct{}, 1)
	for {
		if p.several.Load() {
			// Where many are at work, the answers of the last exchange have just woken
			// some: what they want now goes along if they are let run first.
			runtime.Gosched()
		}
		b := p.board()
		if b != nil {
			err := b.exchange()
			p.land(b, err)
			for _, c := range b.calls {
				c.tell()
			}
		}
		again, more := p.next(b, own)
		if !again && more {
			_, again = <-own
		}
		if !again {
			return
		}
	}
}

// board makes the exchange that a goroutine was called for; nil if it isn't needed any
// more.
func (p *pipe) board() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called--
	switch {
	case p.waiting.len() == 0:
		return nil
	case p.refusal != nil:
		return p.refuseAllLocked()
	case p.sick && len(p.flying) > 0 && p.waiting.keeping() < crowdKept: // since it was called
		return nil
	}
	return p.departLocked()
}

// tell gives a call's vote to who waits for it.
func (c *call) tell() {
	vote, to, r := c.vote, c.to, c.in.pipe.r
	if !c.probing { // its answers have yet to be read
		r.recycle(c)
	}
	to.Receive(vote)
}

// seal is asked right before an exchange is written: from here on its commands may
// have been carried out. It reports false if it must not be written.
func (p *pipe) seal(b *batch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.dropped || b.sealed {
		return false
	}
	b.sealed, p.met = true, true
	return true
}

// land takes in how an exchange ended, and leaves those of its calls in it that
// ended with it.
func (p *pipe) land(b *batch, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learnLocked(b, err)
	over := b.calls[:0]
	var again []*call
	for _, c := range b.calls {
		switch {
		case c.stage == ended:
		case c.resend || errors.Is(err, errGivenUp):
			c.resend = false
			c.stage = waiting
			again = append(again, c)
		default:
			p.endLocked(c)
			over = append(over, c)
		}
	}
	clear(b.calls[len(over):])
	b.calls = over
	p.waiting.putBack(again)
}

// learnLocked judges the server by an exchange.
func (p *pipe) learnLocked(b *batch, err error) {
	now := time.Now()
	switch {
	case err == nil:
		p.sick, p.refusal = false, nil
		if len(b.calls) <= 4 {
			// Only small ones: what a large one takes is mostly its own work. And
			// rather the quickest of them than the mean: on a busy machine that is
			// the machine's.
			took := now.Sub(b.began)
			p.trip = min(took, p.trip+(took-p.trip)/256)
		}
	case errors.Is(err, errGivenUp), errors.Is(err, errRefused), errors.Is(err, redis.ErrClosed):
	case isTimeout(err):
		p.sick = true
	case b.sealed, errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
	default:
		p.refusal, p.closed = explain(&b.lifetime, err), now.Add(dialPause)
	}
}

// next gives up a batch that has landed, if there was one, and says whether another is
// to be made now. If not, more says that the goroutine is to wait for one: it is told,
// or dismissed, by its own channel.
func (p *pipe) next(b *batch, own chan struct{}) (again, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b != nil {
		p.clearLocked(b)
	}
	if p.dueLocked() || p.refusal != nil && p.waiting.len() > 0 {
		p.called++
		return true, true
	}
	if p.over {
		return false, false
	}
	p.parked, p.busy = append(p.parked, own), time.Now()
	p.armLocked(p.busy.Add(idle))
	return false, true
}

// clearLocked takes a batch out of those under way, and keeps it for use again.
func (p *pipe) clearLocked(b *batch) {
	for i, other := range p.flying {
		if other == b {
			last := len(p.flying) - 1
			p.flying[i], p.flying[last] = p.flying[last], nil
			p.flying = p.flying[:last]
			break
		}
	}
	if !b.lifetime.over.Load() {
		clear(b.calls)
		b.calls = b.calls[:0]
		p.spare = append(p.spare, b)
	}
}

// close ends the goroutines that have nothing to do; the others end with their
// exchange.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.dismissLocked()
	if p.timer != nil && len(p.timed) == 0 {
		p.timer.Stop()
		p.due = time.Time{}
	}
}

func (p *pipe) dismissLocked() {
	for _, runner := range p.parked {
		close(runner)
	}
	p.parked = nil
}

// refuseAllLocked fails those in the queue after a dial that failed: they would
// only wait for another.
func (p *pipe) refuseAllLocked() *batch {
	b := &batch{pipe: p}
	b.lifetime.done = make(chan struct{})
	b.refused = p.refusal
	b.calls = p.waiting.takeAll()
	for _, c := range b.calls {
		c.stage, c.in = aboard, b
	}
	p.flying = append(p.flying, b)
	return b
}

// endLocked ends a call, once.
func (p *pipe) endLocked(c *call) {
	c.stage = ended
	if c.at < 0 {
		return
	}
	last := len(p.timed) - 1
	moved := p.timed[last]
	p.timed[c.at], moved.at = moved, c.at
	p.timed[last], p.timed = nil, p.timed[:last]
	c.at = -1
}

// giveUp ends a call whose caller waits no longer. It is false for one that has ended
// before.
func (p *pipe) giveUp(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.stage == ended {
		return false
	}
	if c.stage == waiting {
		p.waiting.remove(c)
	}
	p.abandonLocked(c)
	return true
}

// abandonLocked ends a call before its exchange, and reports whether it was never
// sent nor will be.
func (p *pipe) abandonLocked(c *call) (unsent bool) {
	unsent = c.stage == waiting || !c.in.sealed
	if c.stage == aboard {
		c.in.dropped = true
	}
	p.endLocked(c)
	return unsent
}

// armLocked has expire called at the deadline, or earlier.
func (p *pipe) armLocked(deadline time.Time) {
	if !p.due.IsZero() && !deadline.Before(p.due) {
		return
	}
	p.due = deadline
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(deadline), p.expire)
	} else {
		p.timer.Reset(time.Until(deadline))
	}
}

// expire ends the calls and exchanges whose time is over.
func (p *pipe) expire() {
	p.mu.Lock()
	now := time.Now()
	// One timer for all that are due about now. To look at thousands each millisecond would
	// take time from what they wait for.
	grain := time.Millisecond * time.Duration(1+len(p.timed)/256)
	p.due = time.Time{}
	var next time.Time
	later := func(deadline time.Time) {
		if next.IsZero() || deadline.Before(next) {
			next = deadline
		}
	}
	var late []expired
	for i := len(p.timed) - 1; i >= 0; i-- {
		c := p.timed[i]
		if now.Before(c.deadline) {
			later(c.deadline)
			continue
		}
		unsent := p.abandonLocked(c)
		p.sick = p.sick || !unsent
		late = append(late, expired{c.to, unsent})
	}
	if len(late) > 0 {
		p.waiting.dropEnded()
	}
	for _, b := range p.flying {
		switch deadline := b.lifetime.deadline; {
		case deadline.IsZero():
		case now.Before(deadline):
			later(deadline)
		default:
			b.lifetime.end()
		}
	}
	if quiet := p.busy.Add(idle); len(p.parked) > 0 && now.Before(quiet) {
		later(quiet)
	} else {
		p.dismissLocked()
	}
	if !next.IsZero() {
		if soon := now.Add(grain); next.Before(soon) {
			next = soon
		}
		p.armLocked(next)
	}
	unsent := errUnsent
	if p.silentLocked() {
		unsent = errSilent
	}
	p.mu.Unlock()
	for _, e := range late {
		err := errLate
		if e.unsent {
			err = unsent
		}
		e.to.Receive(wire.Vote{Unsent: e.unsent, Err: err})
	}
}

// silentLocked reports whether it may be that the server doesn't speak TLS, and so never
// answers a handshake: Redis then waits for the end of a line.
func (p *pipe) silentLocked() bool { return !p.met && p.r.client.Options().TLSConfig != nil }

// ended is the error of a call whose context ended before its answer.
func (p *pipe) ended(ctx context.Context) error {
	p.mu.Lock()
	silent := p.silentLocked()
	p.mu.Unlock()
	if silent {
		return contextEnded(ctx, hideContext{errSilent})
	}
	return contextEnded(ctx, nil)
}

// expired is a call that ended before its answer.
type expired struct {
	to     wire.Receiver
	unsent bool
}

// isTimeout reports whether an exchange failed because no answer came in time.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
