package simulation

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
)

// call is one request of a process and the wait for its reply.
type call struct {
	message
	name    string
	again   bool                    // by the second name of its place
	execute func(*server, *request) // when it has arrived; the resource is no server

	// The call ends with the context, or without one at this monotonic time.
	ctx     context.Context
	due     int64
	receive func(*answer) // is called once, on the driver's goroutine, and must not block

	opens *subscription // on a connection of its own; nil: it uses the link

	// Only the driver uses what follows.
	answered bool
	bound    kernel.Timer
}

// answer is the reply to a call: to a request of the library a vote, to others a value. Both have
// the vote's error.
type answer struct {
	vote  wire.Vote
	value any
}

// The orders of Redis's own commands and of subscriptions among the operations, and what is added to those of a
// server's second name.
const (
	commandOp = 1<<8 + iota
	subscribeOp

	againOp = 1 << 16
)

// failed is the answer of a call that failed.
func failed(err error, unsent bool) *answer {
	return &answer{vote: wire.Vote{Err: err, Unsent: unsent}}
}

// do posts the call and waits for the answer on one channel. The driver delivers the context's end there
// too, because a select with two ready cases would be random.
func (c *call) do(order kernel.OpOrder) *answer {
	reply := make(chan *answer, 1)
	c.receive = func(a *answer) { reply <- a }
	if c.p.Dead.Load() {
		c.p.Remain()
		return failed(ErrCrashed, true)
	}
	if c.ctx != nil {
		defer context.AfterFunc(c.ctx, c.cancel)()
	}
	c.post(order)
	return <-reply
}

func (c *call) post(order kernel.OpOrder) {
	order.Kind, order.Place = kernel.IsCall, c.place
	if c.again {
		order.Op += againOp
	}
	c.p.Post(order, c.begin)
}

// begin numbers the call and sends it, unless a fault pauses the process at this call.
func (c *call) begin() {
	p, now := c.p, c.p.w.Now.Load()
	if p.Gone() {
		c.abandon()
		return
	}
	link := p.link(c.place)
	link.seq++
	c.seq = link.seq
	p.calls[c] = struct{}{}
	if c.opens != nil {
		c.opens.named(c.seq)
	}
	if c.ctx == nil {
		c.bound.Bind(&p.Process, c.due, c, c.tie(4))
	}
	p.w.byOperation(c)
	switch {
	case p.Gone(): // a fault has ended it
	case p.PausedUntil > now:
		p.Push(now, c.tie(0), c.over, c.send)
	default:
		c.send()
	}
}

// send sends the request.
func (c *call) send() {
	c.event(record.Sent).Op = c.name
	r := &request{call: c}
	if c.opens == nil {
		r.incarnation = c.p.link(c.place).incarnation
	}
	delay, lost := c.passage(fault.Requests)
	w := c.p.w
	at := w.Now.Load() + int64(delay)
	// The copy may arrive although the original was lost.
	if by, repeated := c.repeats(); repeated {
		copied := &request{call: c, incarnation: r.incarnation, again: true}
		w.Push(at+int64(by), c.tie(7), nil, func() {
			c.event(record.RequestDuplicated)
			copied.arrive()
		})
	}
	if lost {
		c.event(record.RequestLost)
		return
	}
	w.Push(at, c.tie(1), nil, r.arrive) // also if its sender is gone
}

// answer ends the call. Its receiver may be the library's, which is safe: all other goroutines are
// blocked and hold no locks.
func (c *call) answer(a *answer) {
	if c.answered {
		return
	}
	c.answered, c.p.w.Awake = true, true
	delete(c.p.calls, c)
	c.receive(a)
}

// abandon ends the wait of a process that has crashed.
func (c *call) abandon() { c.answer(failed(ErrCrashed, false)) }

// cancel ends the call because its context has ended.
func (c *call) cancel() {
	err := context.Cause(c.ctx)
	c.p.Post(kernel.OpOrder{Kind: kernel.IsCancel, Place: c.place, N: c.seq}, func() { c.failSoon(3, record.GaveUp, err) })
}

// failSoon lets the call fail at this moment.
func (c *call) failSoon(leg uint64, kind record.EventKind, err error) {
	if !c.over() {
		c.p.Push(c.p.w.Now.Load(), c.tie(leg), c.over, func() { c.fail(kind, err) })
	}
}

func (c *call) fail(kind record.EventKind, err error) {
	c.event(kind)
	c.answer(failed(err, false))
}

// over reports whether nobody waits for the call's reply any more.
func (c *call) over() bool { return c.answered || c.p.Gone() }

func (c *call) Waiting() bool { return !c.answered }

// Expire ends the call because its timeout has passed.
func (c *call) Expire() {
	if !c.answered {
		c.fail(record.GaveUp, context.DeadlineExceeded)
	}
}

// request is a call on its way to its place.
type request struct {
	call        *call
	incarnation uint64 // of the server at the other end, 0: it opens the connection

	// again marks the second copy of a request that arrives twice. Its reply is
	// discarded.
	again bool
}

// arrive reaches the server to which the sender's connections lead now, or the resource.
func (r *request) arrive() {
	if c := r.call; c.place == toResource {
		c.execute(nil, r)
	} else {
		c.p.server(c.place).receive(r)
	}
}

// link is the sender's connection.
func (r *request) link() *link { return r.call.p.link(r.call.place) }

// reply sends the answer. The process misses it if the call ends first.
func (r *request) reply(a *answer) {
	c := r.call
	if r.again {
		return
	}
	e := c.arrive(c.tie(2), c.over, func() {
		c.event(record.Received)
		c.answer(a)
	})
	if e == nil {
		c.event(record.ReplyLost)
		return
	}
	e.Missed = func(at int64) {
		if !c.p.Gone() {
			c.event(record.Ignored).At = time.Duration(at)
		}
	}
}

// cutConnection closes the connection to a server. Sent requests still arrive; calls that
// wait for a reply fail.
func (p *process) cutConnection(place int) {
	p.link(place).incarnation = 0
	for _, e := range sorted(p.subscriptions) {
		if e.place == place {
			e.breakNow()
		}
	}
	for c := range p.calls {
		if c.place == place {
			c.failSoon(5, record.CutOff, ErrReset)
		}
	}
}
