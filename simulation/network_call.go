package simulation

import (
	"context"
	"strings"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// call is one request of a process and the wait for its reply.
type call struct {
	p      *process
	place  int // the index among world.servers, or toResource
	name   string
	cmd    wire.Request
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
	struck   []fault.Fault // at this operation, on its messages
	seq      uint64

	// The events of most calls, allocated together with the call.
	request request
	back    reply
	bound   kernel.Timer
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

// toResource is the resource's index among what a process has links to.
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
	return c.p.w.servers[c.place].name
}

func (c *call) Order() kernel.OpOrder {
	switch {
	case c.access != nil:
		return kernel.OpOrder{Process: c.p.Index, Kind: kernel.IsCall, Place: c.place, N: uint64(c.access.goroutine)}
	case c.sub != nil:
		return kernel.OpOrder{Process: c.p.Index, Kind: kernel.IsCall, Place: c.place, Op: listenOp}
	case c.raw != nil:
		return kernel.OpOrder{Process: c.p.Index, Kind: kernel.IsCall, Place: c.place, Op: rawOp, Key: strings.Join(c.raw, " ")}
	}
	order := kernel.OpOrder{Process: c.p.Index, Kind: kernel.IsCall, Place: c.place, Op: int(c.cmd.Op), N: uint64(c.cmd.Fence.Token), Value: c.cmd.Value}
	if len(c.cmd.Keys) > 0 {
		order.Key = c.cmd.Keys[0]
	}
	return order
}

// apply numbers the call and sends it, unless a fault pauses the process at this call.
func (c *call) Apply() {
	w := c.p.w
	if c.p.Gone() {
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
			c.bound.Bind(&c.p.Process, c.due, c, c.tie(4))
		} else {
			c.bound.BindTo(&c.p.Process, c.ctx, c.tie(4))
		}
		w.byOperation(c)
		if c.p.Gone() {
			return
		}
		if c.p.PausedUntil > w.Now.Load() {
			w.PushFrom(c.p.PausedUntil, w.Now.Load(), c.tie(0), &c.p.Process, kernel.MomentOf(c.over, c.send))
			return
		}
	}
	c.send()
}

func (c *call) tie(leg uint64) uint64 {
	return kernel.Draw(c.p.w.Seed, kernel.TagTie, uint64(c.p.Index), uint64(c.place+1), c.seq, leg)
}

// send sends the request.
func (c *call) send() {
	w := c.p.w
	w.message(record.Sent, c).Op = c.name
	r := &c.request
	r.call = c
	if c.sub == nil { // which opens a connection of its own
		r.incarnation = c.link().incarnation
	}
	delay, lost := w.passage(c, fault.Requests)
	at := w.Now.Load() + int64(delay)
	// The copy may arrive although the original was lost.
	if by, repeated := w.repeats(c); repeated {
		w.Push(at+int64(by), c.tie(7), nil, &request{call: c, incarnation: r.incarnation, again: true})
	}
	if lost {
		w.message(record.RequestLost, c)
		return
	}
	w.Push(at, c.tie(1), nil, r)
}

// answer wakes the caller.
func (c *call) answer(a *answer) {
	if c.answered {
		return
	}
	c.answered = true
	delete(c.p.calls, c)
	c.deliver(a)
}

// deliver wakes the caller, or calls its Receiver on the driver's goroutine. That is safe:
// Receive doesn't block, and all other goroutines are blocked and hold no locks.
func (c *call) deliver(a *answer) {
	c.p.w.Awake = true
	if c.to == nil {
		c.reply <- a
	} else {
		c.to.Receive(a.vote)
	}
}

// abandon ends the wait of a process that has crashed.
func (c *call) abandon() {
	if c.answered {
		return
	}
	c.answered = true
	c.deliver(failed(ErrCrashed, false))
}

// cancel ends the call because its context has ended.
func (c *call) cancel() {
	err := context.Cause(c.ctx)
	c.p.Post(&cancelled{c, err})
}

// cancelled is the end of a call's context.
type cancelled struct {
	call *call
	err  error
}

func (c *cancelled) Order() kernel.OpOrder {
	return kernel.OpOrder{Process: c.call.p.Index, Kind: kernel.IsCancel, Place: c.call.place, N: c.call.seq}
}

func (c *cancelled) Apply() {
	w := c.call.p.w
	if !c.call.over() {
		w.Push(w.Now.Load(), c.call.tie(3), &c.call.p.Process, kernel.MomentOf(c.call.over, func() { c.call.giveUp(c.err) }))
	}
}

// over reports whether nobody waits for the call's reply any more.
func (c *call) over() bool { return c.answered || c.p.Gone() }

func (c *call) Waiting() bool { return !c.answered }

// expire ends the call because its timeout has passed.
func (c *call) Expire() {
	if !c.answered {
		c.giveUp(context.DeadlineExceeded)
	}
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
	if c.p.Dead.Load() {
		c.p.Remain()
		return failed(ErrCrashed, true)
	}
	if c.ctx != nil {
		defer context.AfterFunc(c.ctx, c.cancel)()
	}
	c.p.Post(c)
	return <-c.reply
}

// message logs a step of a call.
func (w *world) message(kind record.EventKind, c *call) *record.Event {
	e := w.event(kind, c.p.Name, c.placeName())
	e.N = c.seq
	return e
}

// access is a request to the resource.
type access struct {
	kind    record.EventKind // Read or Write
	holding *holding
	token   fencing.Token // that is shown
	value   int64
	version uint64
	number  uint64 // of a write among those of its lease

	goroutine int // of the process
}

// accessReply is the reply.
type accessReply struct {
	value   int64
	version uint64
	err     error
}
