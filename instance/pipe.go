package instance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// pipe sends the calls of many goroutines to one server in batches. A single call is sent
// at once. Calls that arrive while a batch is in flight wait, and go out together in the
// next one. So a busy instance needs one system call where each caller would need its own,
// and a quiet one adds no delay.
//
// It limits what a slow, hung or dead server can cost:
//
//   - Batches in flight, each with a goroutine and a connection: maxInFlight, and one while
//     the server is overdue, unless many leases are to be kept.
//   - Connections that are being made, each with a goroutine: one, if there is none that works.
//   - Acquisitions and hints that wait for an overdue server: maxWaiting. Further ones fail
//     at once.
//   - Dials: one in dialPause after a failed one. Until then every call fails at once with
//     that dial's error.
type pipe struct {
	r *Redis

	mu       sync.Mutex
	queue    callQueue
	inFlight []*batch
	free     []*batch        // for reuse
	pending  []*call         // the calls of Send that are not done
	idle     []chan struct{} // one for each worker that waits for something to send
	idleFrom time.Time       // when the last worker became idle
	starting int             // workers that are about to take a batch
	overdue  bool            // the last batch that ended was not answered in time
	several  atomic.Bool     // the last batch had more than one call
	dialErr  error           // the last dial's, until redialAt; the queue is empty then
	redialAt time.Time
	rtt      time.Duration // what a small batch takes, at best

	ready       []*connection // that no batch uses; the last is taken first
	conns       int           // these and those in use
	newest      time.Time     // when the last one that was made is too old
	connecting  int           // that are being made
	attempt     *attempt      // to make one
	unreachable bool          // the last attempt has failed
	warmUntil   atomic.Int64  // since began, see warmLocked
	began       time.Time
	ctx         context.Context // of the connections that are being made
	cancel      context.CancelFunc

	timer     *time.Timer // for the deadlines in pending and inFlight
	timerAt   time.Time   // when it fires, zero if it isn't set
	closed    bool        // the instance was closed
	everWrote bool        // so that the server speaks TLS if it has to
}

const (
	// maxBatch is how many calls go out together.
	maxBatch = 256
	// maxInFlight limits the batches in flight.
	maxInFlight = 8
	// minQueued is how many calls must be queued for each batch in flight before another
	// one is sent, if the server is near.
	minQueued = 256
	// minQueuedKeep is the same for calls that keep leases, also while the server is
	// overdue. On a machine whose processors are all busy a batch takes long because it
	// waits for a processor, not because of its size. One batch after the other would then
	// be too slow for many leases.
	minQueuedKeep = 64
	// farRTT is the round trip from which on it takes longer to wait for the batch in
	// flight than another batch costs.
	farRTT = 5 * time.Millisecond
	// maxWaiting is how many acquisitions and hints wait for an overdue server.
	maxWaiting = 4 * maxBatch
	// idleTime is how long an idle worker is kept.
	idleTime = 100 * time.Millisecond
	// grace is how much longer than its last call's deadline a batch may take. Its replies
	// are of no use any more, but its connection is: on a busy machine a new connection for
	// each late reply, with a handshake and a Probe, would add to the load. And after a
	// hang the server is back with its first reply, without a dial.
	grace = 250 * time.Millisecond
	// dialPause is how long nothing is dialed after a failed dial.
	dialPause = 50 * time.Millisecond
)

var (
	errClosed  = fmt.Errorf("%w (%w)", ErrClosed, redis.ErrClosed)
	errOverdue = fmt.Errorf("%w: it did not answer the last requests in time, and no more acquisitions may wait for it", wire.ErrOverloaded)
	errNoReply = fmt.Errorf("instance: no answer in time: %w", context.DeadlineExceeded)
	errNotSent = fmt.Errorf("instance: it could not be sent in time: %w", context.DeadlineExceeded)
	errNoTLS   = fmt.Errorf("instance: %s yet: %w", noTLS, context.DeadlineExceeded)
)

const noTLS = "no TLS handshake was answered (if the port doesn't speak TLS, use its tls-port, or redis:// for this one)"

// enter queues a call. If the call can't be sent now, enter returns its vote instead.
func (p *pipe) enter(c *call) (refused wire.Vote, ok bool) {
	p.mu.Lock()
	if err := p.refuseLocked(c); err != nil {
		p.mu.Unlock()
		return wire.Vote{Unsent: true, Err: err}, false
	}
	c.state = queued
	if !c.probing {
		c.index = len(p.pending)
		p.pending = append(p.pending, c)
		p.setTimerLocked(c.deadline)
	}
	p.queue.add(c)
	worker := p.startLocked()
	p.mu.Unlock()
	if worker != nil {
		worker <- struct{}{} // has room for it
	}
	return wire.Vote{}, true
}

// startLocked begins to send another batch, if one is to be sent and a connection is ready, or to
// make a connection. It returns an idle worker that the caller is to wake, without the lock.
func (p *pipe) startLocked() (worker chan struct{}) {
	if !p.readyToSendLocked() {
		return nil
	}
	p.starting++
	if last := len(p.idle) - 1; last >= 0 {
		worker, p.idle = p.idle[last], p.idle[:last]
		return worker
	}
	go p.run()
	return nil
}

// readyToSendLocked reports whether another batch is to be sent now and a connection is ready for
// it.
func (p *pipe) readyToSendLocked() bool {
	if !p.shouldSendLocked() {
		return false
	}
	if len(p.ready) <= p.starting {
		p.connectLocked(false)
		return false
	}
	return true
}

func (p *pipe) refuseLocked(c *call) error {
	if p.closed {
		return errClosed
	}
	if p.dialErr != nil {
		if time.Now().Before(p.redialAt) {
			return p.dialErr
		}
		p.dialErr = nil
	}
	// Requests about held leases need no limit: there is at most one for each lease.
	//guard:late-instance-keeps  an instance that is late turns away acquisitions, not extensions
	if p.overdue && c.rank() == rankAcquire && len(p.queue[rankAcquire]) >= maxWaiting {
		return errOverdue
	}
	return nil
}

// shouldSendLocked reports whether another batch is to be sent now. Acquisitions leave one
// batch to the requests about held leases, because with a distant server each batch may
// take long.
func (p *pipe) shouldSendLocked() bool {
	n, most := len(p.inFlight)+p.starting, maxInFlight
	//guard:exchange-for-the-held  acquisitions leave one batch free for extensions and releases
	if p.queue.len() == len(p.queue[rankAcquire]) {
		most--
	}
	near := p.rtt < farRTT && p.r.cfg.Replicas == 0 // WAIT blocks its connection
	switch {
	case p.queue.len() == 0, n >= most:
		return false
	//guard:extensions-in-crowds  many extensions don't wait until a late server has answered the batch before
	case n == 0 || len(p.queue[rankKeep]) >= minQueuedKeep*n:
		return true
	case p.overdue || near && p.queue.len() < minQueued*n:
		return false
	}
	return true
}

// run is a worker: it sends batches. It ends when it has been idle for a while, or when the
// instance is closed. Each batch ends by its deadline, or by Options.ReadTimeout.
//
// A goroutine for each batch would be simpler, but costs a fifth more: go-redis's calls go
// deep, so that each new stack is copied several times.
func (p *pipe) run() {
	work := make(chan struct{}, 1)
	for again := true; again; {
		if p.several.Load() {
			// The replies of the last batch have just woken other goroutines. If they
			// run first, their next calls get into this batch.
			runtime.Gosched()
		}
		b := p.nextBatch()
		if b != nil {
			closeAll(p.finish(b, b.roundTrip()))
			for _, c := range b.calls {
				p.r.deliver(c)
			}
		}
		again = p.await(b, work)
	}
}

// nextBatch makes a batch of the first calls in the queue and counts it as in flight. It
// returns nil if there is nothing to send any more.
func (p *pipe) nextBatch() *batch {
	var old []*connection
	defer func() { closeAll(old) }()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if p.queue.len() == 0 || p.overdue && len(p.inFlight) > 0 && len(p.queue[rankKeep]) < minQueuedKeep {
		return nil
	}
	var conn *connection
	if conn, old = p.takeLocked(); conn == nil {
		p.connectLocked(false)
		return nil
	}
	var b *batch
	if last := len(p.free) - 1; last >= 0 {
		b, p.free = p.free[last], p.free[:last]
	} else {
		b = &batch{pipe: p}
		b.lifetime.done = make(chan struct{})
	}
	b.written, b.dropped, b.began = false, false, time.Now()
	// An acquisition or an extension that has waited for half of its timeout stays behind:
	// its answer would mostly come too late, and the acquisition would have to be deleted
	// again. So an overloaded machine serves those that it still can. The vote fails at its
	// deadline and not before, because an earlier failure would only bring an earlier retry.
	p.queue.dropStale(b.began)
	// With replicas to wait for, the calls that need WAIT don't delay the others.
	b.calls = p.queue.take(b.calls[:0], p.r.cfg.Replicas > 0)
	if len(b.calls) == 0 {
		p.free = append(p.free, b)
		old = append(old, p.putBackLocked(conn, false)...)
		return nil
	}
	b.conn, b.far = conn, p.rtt >= farRTT
	limited := true
	b.lifetime.deadline = time.Time{}
	for _, c := range b.calls {
		c.state, c.in = inBatch, b
		limited = limited && !c.deadline.IsZero()
		if c.deadline.After(b.lifetime.deadline) {
			b.lifetime.deadline = c.deadline
		}
	}
	if limited {
		b.lifetime.deadline = b.lifetime.deadline.Add(grace)
		p.setTimerLocked(b.lifetime.deadline)
	} else {
		b.lifetime.deadline = time.Time{}
	}
	p.inFlight = append(p.inFlight, b)
	p.several.Store(len(b.calls) > 1)
	return b
}

// beginWrite is called right before a batch is written. From here on its requests may have
// been carried out. It returns false if the batch must not be written.
func (p *pipe) beginWrite(b *batch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.dropped || b.written {
		return false
	}
	b.written, p.everWrote = true, true
	return true
}

// finish takes in the end of a batch. It leaves in the batch the calls that are done now, and
// returns the connections that are to be closed.
func (p *pipe) finish(b *batch, err error) (old []*connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learnLocked(b, err)
	old = p.putBackLocked(b.conn, b.broken)
	b.conn = nil
	over := b.calls[:0]
	var again []*call
	for _, c := range b.calls {
		switch {
		case c.state == done:
		case c.resend || errors.Is(err, errAbandoned):
			if c.resend {
				//guard:asked-back-is-not-stale  a request that the server has asked back for is sent, however late it is
				c.resend, c.stale = false, time.Time{}
			}
			c.state = queued
			again = append(again, c)
		default:
			p.doneLocked(c)
			over = append(over, c)
		}
	}
	clear(b.calls[len(over):])
	p.queue.addFirst(again)
	b.calls = over
	return old
}

// deliver gives a call's vote to its receiver.
func (r *Redis) deliver(c *call) {
	vote, to := c.vote, c.to
	if !c.probing { // a Probe's replies have yet to be read
		r.recycle(c)
	}
	to.Receive(vote)
}

// learnLocked updates what is known of the server from the end of a batch.
func (p *pipe) learnLocked(b *batch, err error) {
	now := time.Now()
	switch {
	case err == nil:
		p.overdue, p.unreachable, p.dialErr = false, false, nil
		if len(b.calls) <= 4 {
			// A large batch takes most of its time for its own work. And of the small
			// ones the fastest counts, because on a busy machine the mean is the
			// machine's.
			took := now.Sub(b.began)
			if p.rtt == 0 {
				p.rtt = took
			}
			p.rtt = min(took, p.rtt+(took-p.rtt)/256)
		}
	case errors.Is(err, errAbandoned):
	case isTimeout(err):
		p.overdue = true
	}
}

// await takes a batch that has ended out of those in flight, and waits until another one is
// to be sent. It returns false if the worker is to end.
func (p *pipe) await(b *batch, work chan struct{}) bool {
	p.mu.Lock()
	if b != nil {
		i := slices.Index(p.inFlight, b)
		p.inFlight = slices.Delete(p.inFlight, i, i+1)
		if !b.lifetime.over.Load() {
			clear(b.calls)
			b.calls = b.calls[:0]
			p.free = append(p.free, b)
		}
	}
	send, closed := p.readyToSendLocked(), p.closed
	switch {
	case send:
		p.starting++
	case !closed:
		p.idle, p.idleFrom = append(p.idle, work), time.Now()
		p.setTimerLocked(p.idleFrom.Add(idleTime))
	}
	p.mu.Unlock()
	if send || closed {
		return send
	}
	_, ok := <-work
	return ok
}

// close ends the idle workers, closes the connections that aren't in use, and fails the calls that
// wait. The other workers and connections end with their batches.
func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.stopIdleLocked()
	old := p.dropLocked(func(*connection) bool { return true })
	ended := p.failLocked(errClosed)
	p.cancel()
	if p.timer != nil && len(p.pending) == 0 {
		p.timer.Stop()
		p.timerAt = time.Time{}
	}
	p.mu.Unlock()
	closeAll(old)
	for _, c := range ended {
		p.r.deliver(c)
	}
}

func (p *pipe) stopIdleLocked() {
	for _, worker := range p.idle {
		close(worker)
	}
	p.idle = nil
}

// doneLocked marks a call as done, once.
func (p *pipe) doneLocked(c *call) {
	c.state = done
	if c.index < 0 {
		return
	}
	last := len(p.pending) - 1
	moved := p.pending[last]
	p.pending[c.index], moved.index = moved, c.index
	p.pending[last], p.pending = nil, p.pending[:last]
	c.index = -1
}

// giveUp ends a Probe's call whose context has ended. It returns false if the call was done
// before.
func (p *pipe) giveUp(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.state == done {
		return false
	}
	if c.state == queued {
		p.queue.remove(c)
	}
	p.abandonLocked(c)
	return true
}

// abandonLocked ends a call before its batch, and reports whether it was not sent and never
// will be.
func (p *pipe) abandonLocked(c *call) (unsent bool) {
	unsent = c.state == queued || !c.in.written
	if c.state == inBatch {
		c.in.dropped = true
	}
	p.doneLocked(c)
	return unsent
}

// setTimerLocked makes sure that expire runs at the deadline, or earlier.
func (p *pipe) setTimerLocked(deadline time.Time) {
	if !p.timerAt.IsZero() && !deadline.Before(p.timerAt) {
		return
	}
	p.timerAt = deadline
	if p.timer == nil {
		p.timer = time.AfterFunc(time.Until(deadline), p.expire)
	} else {
		p.timer.Reset(time.Until(deadline))
	}
}

// expire ends the calls, batches and idle workers whose time is over.
func (p *pipe) expire() {
	p.mu.Lock()
	now := time.Now()
	p.timerAt = time.Time{}
	var next time.Time
	later := func(deadline time.Time) {
		if next.IsZero() || deadline.Before(next) {
			next = deadline
		}
	}
	type expired struct {
		to     wire.Receiver
		unsent bool
	}
	var late []expired
	for i := len(p.pending) - 1; i >= 0; i-- {
		c := p.pending[i]
		if now.Before(c.deadline) {
			later(c.deadline)
			continue
		}
		unsent := p.abandonLocked(c)
		p.overdue = p.overdue || !unsent
		late = append(late, expired{c.to, unsent})
	}
	if len(late) > 0 {
		p.queue.dropDone()
	}
	for _, b := range p.inFlight {
		switch deadline := b.lifetime.deadline; {
		case deadline.IsZero():
		case now.Before(deadline):
			later(deadline)
		default:
			b.lifetime.end()
		}
	}
	if end := p.idleFrom.Add(idleTime); len(p.idle) > 0 && now.Before(end) {
		later(end)
	} else {
		p.stopIdleLocked()
	}
	old := p.dropLocked(func(c *connection) bool { return !now.Before(c.ends) })
	if spare := p.r.client.Options().PoolSize - 1; spare <= maxInFlight && len(p.idle)+len(p.inFlight)+p.starting == 0 {
		// The caller's own commands need connections of so small a pool, too.
		old = append(old, p.dropLocked(func(*connection) bool { return p.conns > min(1, spare) })...)
	}
	for _, c := range p.ready {
		later(c.ends)
	}
	worker := p.startLocked() // after a failed attempt to connect
	if p.queue.len() > 0 && now.Before(p.redialAt) {
		later(p.redialAt)
	}
	p.warmLocked()
	if !next.IsZero() {
		// One run for all deadlines that are about as soon. Looking at thousands of calls
		// each millisecond would take time from the calls themselves.
		soon := now.Add(time.Millisecond * time.Duration(1+len(p.pending)/256))
		if next.Before(soon) {
			next = soon
		}
		p.setTimerLocked(next)
	}
	notSent := errNotSent
	if p.maybeNotTLSLocked() {
		notSent = errNoTLS
	}
	p.mu.Unlock()
	if worker != nil {
		worker <- struct{}{}
	}
	closeAll(old)
	for _, e := range late {
		err := errNoReply
		if e.unsent {
			err = notSent
		}
		e.to.Receive(wire.Vote{Unsent: e.unsent, Err: err})
	}
}

// maybeNotTLSLocked reports whether the server may not speak TLS, and so never answers a
// handshake: Redis then waits for the end of a line.
func (p *pipe) maybeNotTLSLocked() bool {
	return !p.everWrote && p.r.client.Options().TLSConfig != nil
}

// wrote reports whether anything was written to the server.
func (p *pipe) wrote() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.everWrote
}

// endedBy returns the error of a call whose context ended before its reply.
func (p *pipe) endedBy(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.maybeNotTLSLocked() {
		return contextEnded(ctx, hideContext{errNoTLS})
	}
	return contextEnded(ctx, nil)
}

// isTimeout reports whether a batch failed because no reply came in time.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, wire.ErrTimeout) || errors.As(err, &timeout) && timeout.Timeout()
}
