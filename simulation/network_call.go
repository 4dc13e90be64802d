package simulation

import (
	"context"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// call is one request of a process and the wait for its reply.
type call struct {
	p      *process
	place  int // the index among world.places, or toResource
	name   string
	cmd    wire.Request
	waiter wire.Waiter   // of Enqueue and Dequeue
	raw    []string      // one of Redis's own commands, instead of cmd
	access *access       // to the resource
	sub    *subscription // to be opened
	to     wire.Receiver // of the vote; nil: reply
	reply  chan *answer  // has room for the one answer; a pointer, to keep stacks small

	// The call ends with the context, or without one at this monotonic time.
	ctx context.Context
	due int64

	// Packed, because there are many calls.
	probe bool
	known wire.Known // what the probe's client knew

	// Only the driver uses what follows.
	posted   bool
	answered bool
	ended    int           // the step that answered it, see Order
	loses    bool          // a fault at this operation loses
	losesWay fault.Way     // its request, its reply, or both
	repeat   bool          // its request arrives twice,
	repeatBy time.Duration // the second copy so much later
	delay    time.Duration // of its request, by a fault at this operation
	seq      uint64

	// The events of most calls, allocated together with the call.
	request request
	back    reply
	bound   timer
}

// answer is the reply to a call.
type answer struct {
	vote   wire.Vote
	raw    *redismodel.Reply
	id     *wire.Identity // of a probe that was answered
	result *accessReply
}

// The orders of Redis's own commands and of subscriptions among the operations.
const (
	rawOp = 1<<8 + iota
	listenOp
)

// failed is the answer of a call that failed.
func failed(err error, unsent bool) *answer {
	return &answer{vote: wire.Vote{Err: err, Unsent: unsent}}
}

// toResource is the resource's index among the places that a process has links to.
const toResource = -1

func (c *call) link() *link {
	if c.place == toResource {
		return &c.p.links[len(c.p.links)-1]
	}
	return &c.p.links[c.place]
}

func (c *call) placeName() string {
	if c.place == toResource {
		return fault.Resource
	}
	return c.p.w.places[c.place].name
}

func (c *call) order() opOrder {
	switch {
	case c.access != nil:
		return opOrder{process: c.p.index, kind: isCall, place: c.place, n: uint64(c.access.goroutine)}
	case c.sub != nil:
		return opOrder{process: c.p.index, kind: isCall, place: c.place, op: listenOp}
	case c.raw != nil:
		return opOrder{process: c.p.index, kind: isCall, place: c.place, op: rawOp, key: strings.Join(c.raw, " ")}
	}
	return opOrder{process: c.p.index, kind: isCall, place: c.place, op: int(c.cmd.Op), n: uint64(c.cmd.Fence.Token), key: c.cmd.Key, value: c.cmd.Value}
}

// apply numbers the call and sends it, unless a fault pauses the process at this call.
func (c *call) apply(w *world) {
	if c.p.gone() {
		c.abandon()
		return
	}
	if !c.posted {
		c.posted = true
		link := c.link()
		link.seq++
		c.seq = link.seq
		c.p.calls[c] = struct{}{}
		if c.sub != nil {
			c.subscribe()
		}
		if c.ctx == nil {
			c.bound = timer{p: c.p, due: c.due, ends: c, tie: c.tie(4)}
			c.bound.enter()
		} else {
			c.bindTimeout()
		}
		w.byOperation(c)
		if c.p.gone() {
			return
		}
		if c.p.pausedUntil > w.now.Load() {
			w.pushFrom(c.p.pausedUntil, w.now.Load(), c.tie(0), c.p, moment{c.over, c.send})
			return
		}
	}
	c.send()
}

func (c *call) tie(leg uint64) uint64 {
	return draw(c.p.w.seed, tagTie, uint64(c.p.index), uint64(c.place+1), c.seq, leg)
}

// send sends the request.
func (c *call) send() {
	w := c.p.w
	w.message(record.Sent, c).Op = c.name
	if c.place != toResource {
		w.touch(ofLink(c.p, c.p.server(c.place))) // the request takes the connection as it is now
	}
	r := &c.request
	r.call, r.incarnation, r.to = c, c.link().incarnation, c.link().to
	if c.sub != nil || w.connectsApart(c) {
		r.incarnation, r.to, r.apart = 0, nil, true
	}
	delay, lost := w.passage(c, fault.Requests)
	at := w.now.Load() + int64(delay+c.delay)
	// The copy may arrive although the original was lost.
	if by, repeated := w.repeats(c); repeated {
		w.carry(at+int64(by), c.tie(7), nil, &request{call: c, incarnation: r.incarnation, to: r.to, apart: r.apart, again: true})
	}
	if lost {
		w.message(record.RequestLost, c)
		return
	}
	w.carry(at, c.tie(1), nil, r)
}

// answer wakes the caller.
func (c *call) answer(a *answer) {
	if c.answered {
		return
	}
	c.answered, c.ended = true, c.p.w.step()
	delete(c.p.calls, c)
	c.deliver(a)
}

// deliver wakes the caller, or calls its Receiver on the driver's goroutine. That is safe:
// Receive doesn't block, and all other goroutines are blocked and hold no locks.
func (c *call) deliver(a *answer) {
	c.p.w.awake = true
	switch {
	case c.to == nil:
		c.reply <- a
	case c.p.watched: // it may have to wait at a reading of the clock
		go c.to.Receive(a.vote)
	default:
		c.to.Receive(a.vote)
	}
}

// abandon ends the wait of a process that has crashed.
func (c *call) abandon() {
	if c.answered {
		return
	}
	c.answered, c.ended = true, c.p.w.step()
	c.deliver(failed(ErrCrashed, false))
}

// cancel ends the call because its context has ended.
func (c *call) cancel() {
	err := context.Cause(c.ctx)
	c.p.post(&cancelled{c, err})
}

// cancelled is the end of a call's context.
type cancelled struct {
	call *call
	err  error
}

func (c *cancelled) order() opOrder {
	return opOrder{process: c.call.p.index, kind: isCancel, place: c.call.place, n: c.call.seq}
}

func (c *cancelled) apply(w *world) {
	if !c.call.over() {
		w.push(w.now.Load(), c.call.tie(3), c.call.p, moment{c.call.over, func() { c.call.giveUp(c.err) }})
	}
}

// over reports whether nobody waits for the call's reply any more.
func (c *call) over() bool { return c.answered || c.p.gone() }

func (c *call) waiting() bool { return !c.answered }

// expire ends the call because its timeout has passed.
func (c *call) expire() {
	if !c.answered {
		c.giveUp(context.DeadlineExceeded)
	}
}

// bindTimeout gives the timeout of the call's context an event that is named after the call.
// Contexts have no names, and the timeouts of all servers are due at the same moment.
func (c *call) bindTimeout() {
	ctx, _ := c.ctx.Value(timeoutKey{}).(*timeout)
	if ctx == nil || ctx.timer.bound || ctx.timer.p != c.p {
		return
	}
	ctx.timer.bound = true
	c.bound = timer{p: c.p, due: ctx.timer.due, ends: ctx, tie: c.tie(4)}
	c.bound.enter()
}

// giveUp ends the wait for a reply.
func (c *call) giveUp(err error) { c.fail(record.GaveUp, err) }

func (c *call) fail(kind record.EventKind, err error) {
	w := c.p.w
	w.message(kind, c)
	c.answer(failed(err, false))
}

// do waits for the answer on one channel. The driver delivers the context's end there too,
// because a select with two ready cases would be random.
func (c *call) do() *answer {
	c.reply = make(chan *answer, 1)
	if c.p.dead.Load() {
		c.p.remain()
		return failed(ErrCrashed, true)
	}
	if c.ctx != nil {
		defer context.AfterFunc(c.ctx, c.cancel)()
	}
	c.p.post(c)
	return <-c.reply
}

// message logs a step of a call.
func (w *world) message(kind record.EventKind, c *call) *record.Event {
	e := w.event(kind, c.p.name, c.placeName())
	e.N = c.seq
	return e
}
