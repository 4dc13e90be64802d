package simulation

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// link is the way from one process to one server, or to the resource.
type link struct {
	life  uint64 // of the server that the connection is to, 0: there is none
	epoch uint64 // connections opened
	seq   uint64 // calls sent
	wrote int    // the length of the server's log after the last change that came on the connection
}

// lose forgets the connection to a life of the server that has ended.
func (l *link) lose(life uint64) {
	if l.life == life {
		l.life = 0
	}
}

// call is one request of a process and the wait for its answer.
type call struct {
	p     *process
	place int // the index among world.places, or toResource
	name  string
	cmd   quorum.Command
	probe bool
	raw   *rawCommand // by Redis's own commands; nil: by cmd
	act   *act        // to the resource
	ctx   context.Context
	reply chan *answer // has room for the one answer; a pointer, to keep stacks small

	// Instead of ctx and reply, for a call that nobody waits for: who gets the vote,
	// and the reading of the monotonic clock at which it is over.
	to  quorum.Receiver
	due int64

	// Only the driver uses what follows.
	seq      uint64
	posted   bool
	delay    time.Duration // a Delay of this very call
	repeat   bool          // a Duplicate of this very call,
	repeatBy time.Duration // so much later
	answered bool
	epoch    uint64

	// The events of most calls, in one piece of memory with it.
	request request
	back    reply
	bound   timer
}

// answer is what comes back.
type answer struct {
	vote   quorum.Vote
	raw    *Reply
	id     *quorum.Identity // of a probe that was answered
	result *acted
}

// rawOp is the place of Redis's own commands among the operations.
const rawOp = 1 << 8

// failed is the answer that there is none.
func failed(err error, unsent bool) *answer {
	return &answer{vote: quorum.Vote{Err: err, Unsent: unsent}}
}

// toResource is the resource's place among those that a process has links to.
const toResource = -1

func (c *call) link() *link {
	if c.place == toResource {
		return &c.p.links[len(c.p.links)-1]
	}
	return &c.p.links[c.place]
}

func (c *call) placeName() string {
	if c.place == toResource {
		return Resource
	}
	return c.p.w.places[c.place].name
}

func (c *call) order() opOrder {
	if c.raw != nil {
		return opOrder{process: c.p.index, kind: isCall, place: c.place, op: rawOp, key: c.raw.text}
	}
	return opOrder{process: c.p.index, kind: isCall, place: c.place, op: int(c.cmd.Op), n: uint64(c.cmd.Token), key: c.cmd.Key, value: c.cmd.Value}
}

// apply numbers the call and sends it; or holds it, if a fault waits for it.
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
		c.epoch = link.epoch
		c.p.calls[c] = struct{}{}
		if c.to != nil {
			c.bound = timer{p: c.p, due: c.due, call: c, tie: c.tie(4)}
			c.p.enter(&c.bound)
		} else {
			c.p.bind(c)
		}
		w.byOperation(c)
		if c.p.gone() {
			return
		}
		if c.p.pausedUntil > w.now.Load() {
			w.pushFrom(c.p.pausedUntil, w.now.Load(), c.tie(0), c.p, (*held)(c))
			return
		}
	}
	c.send()
}

// held is a call that was held back by a pause.
type held call

func (h *held) live() bool      { return !h.p.gone() && !h.answered }
func (h *held) happen(w *world) { (*call)(h).send() }

func (c *call) tie(leg uint64) uint64 {
	return draw(c.p.w.seed, tagTie, uint64(c.p.index), uint64(c.place+1), c.seq, leg)
}

// send puts the request on its way.
func (c *call) send() {
	w := c.p.w
	if c.act != nil {
		c.act.sent = w.now.Load()
	}
	w.trace.at(w.now.Load(), c.p.name).s(c.name).nth(c.placeName(), c.seq).end()
	r := &c.request
	r.call, r.life = c, c.link().life
	delay, lost := w.passage(c, Requests)
	at := w.now.Load() + int64(delay+c.delay)
	// The copy may get through where the first one didn't.
	if by, repeated := w.repeats(c); repeated {
		w.push(at+int64(by), c.tie(7), nil, &request{call: c, life: r.life, again: true})
	}
	if lost {
		w.count.add(requestLost)
		w.trace.at(w.now.Load(), c.p.name).s("loses").nth(c.placeName(), c.seq).end()
		return
	}
	w.push(at, c.tie(1), nil, r)
}

// repeats says whether a call's request arrives twice, and how much later then.
func (w *world) repeats(c *call) (by time.Duration, repeated bool) {
	if c.repeat {
		return c.repeatBy, true
	}
	for _, f := range w.links {
		if f.Kind == Duplicate && w.concerns(f, c, Requests) &&
			(f.PPM == 0 || draw(w.seed, tagRepeat, uint64(c.p.index), uint64(c.place+1), c.seq)%million < uint64(f.PPM)) {
			return f.By, true
		}
	}
	return 0, false
}

// concerns reports whether a fault of links has to do with a message that is sent
// now.
func (w *world) concerns(f Fault, c *call, way Way) bool {
	now := time.Duration(w.now.Load())
	return now >= f.At && (f.For == 0 || now < f.At+f.For) && (f.Way == Both || f.Way == way) &&
		matches(f.Process, c.p.name) && matches(f.Server, c.placeName())
}

// passage is how long a message takes, and whether it gets lost.
func (w *world) passage(c *call, way Way) (delay time.Duration, lost bool) {
	about := tagRequest
	if way == Replies {
		about = tagReply
	}
	of := func(t tag, more uint64) uint64 {
		return draw(w.seed, t, uint64(c.p.index), uint64(c.place+1), c.seq, more)
	}
	delay = time.Duration(between(of(about, 0), int64(w.cfg.LatencyMin), int64(w.cfg.LatencyMax)))
	for _, f := range w.links {
		if !w.concerns(f, c, way) {
			continue
		}
		switch f.Kind {
		case Cut:
			lost = true
		case Lose:
			// By what the fault is, not by its number: that changes when others are
			// taken away.
			lost = lost || of(tagLoss, uint64(f.At)^uint64(f.PPM)<<32^uint64(about))%million < uint64(f.PPM)
		case Delay:
			delay += f.By
			w.count.add(messageDelayed)
		case Reorder:
			delay += time.Duration(between(of(tagReorder, uint64(f.At)^uint64(about)), 0, int64(f.By)))
		}
	}
	return delay, lost
}

// request is a call on its way to the server.
type request struct {
	call *call
	life uint64 // of the server that its connection is to, 0: it opens one

	// again marks the second copy of a request that arrives twice. Its answer goes
	// to nobody.
	again bool
}

func (r *request) live() bool { return true } // also if its sender is gone

func (r *request) happen(w *world) {
	if r.again {
		w.count.add(requestRepeated)
		w.trace.at(w.now.Load(), r.call.placeName()).s("again").nth(r.call.p.name, r.call.seq).end()
	}
	if r.call.place == toResource {
		result := w.resource.apply(r.call)
		r.reply(&answer{result: &result})
		return
	}
	w.places[r.call.place].server.receive(r)
}

// reply puts the answer on its way.
func (r *request) reply(a *answer) {
	if r.again {
		return
	}
	c := r.call
	w := c.p.w
	delay, lost := w.passage(c, Replies)
	if lost {
		w.count.add(replyLost)
		w.trace.at(w.now.Load(), c.placeName()).s("loses").nth(c.p.name, c.seq).end()
		return
	}
	c.back.call, c.back.answer = c, a
	w.push(w.now.Load()+int64(delay), c.tie(2), c.p, &c.back)
}

// reply is an answer on its way to the process.
type reply struct {
	call   *call
	answer *answer
}

func (r *reply) live() bool { return !r.call.answered && !r.call.p.gone() }
func (r *reply) late() bool { return r.call.answered && !r.call.p.gone() }

func (r *reply) happen(w *world) {
	c := r.call
	w.trace.at(w.now.Load(), c.p.name).s("hears").nth(c.placeName(), c.seq).end()
	c.answer(r.answer)
}

// answer wakes who waits.
func (c *call) answer(a *answer) {
	if c.answered {
		return
	}
	c.answered = true
	delete(c.p.calls, c)
	link := c.link()
	a.vote.Epoch = link.epoch
	if a.id != nil {
		a.id.Epoch = c.epoch
	}
	c.deliver(a)
}

// deliver wakes who waits; or carries on in his place. That is the driver's
// goroutine then, which is as good as any: Receive doesn't block, and the others
// stand and hold no locks.
func (c *call) deliver(a *answer) {
	c.p.w.woke = true
	if c.to != nil {
		c.to.Receive(a.vote)
		return
	}
	c.reply <- a
}

// abandon ends the wait of a process that has crashed.
func (c *call) abandon() {
	if c.answered {
		return
	}
	c.answered = true
	c.deliver(failed(ErrCrashed, false))
}

// cancel says that a call's context has ended.
type cancel struct {
	call *call
	err  error
}

func (c *cancel) order() opOrder {
	return opOrder{process: c.call.p.index, kind: isCancel, place: c.call.place, n: c.call.seq}
}

func (c *cancel) apply(w *world) {
	if c.live() {
		w.push(w.now.Load(), c.call.tie(3), c.call.p, c)
	}
}

func (c *cancel) live() bool { return !c.call.answered && !c.call.p.gone() }

func (c *cancel) happen(*world) { c.call.giveUp(c.err) }

// giveUp ends the wait for an answer.
func (c *call) giveUp(err error) {
	w := c.p.w
	w.count.add(timedOut)
	w.check.gaveUp(c)
	w.trace.at(w.now.Load(), c.p.name).s("gives up").nth(c.placeName(), c.seq).end()
	c.answer(failed(err, false))
}

// reset says that a call's connection was cut.
type reset struct{ call *call }

func (r *reset) live() bool { return !r.call.answered && !r.call.p.gone() }

func (r *reset) happen(w *world) {
	c := r.call
	w.check.gaveUp(c)
	w.trace.at(w.now.Load(), c.p.name).s("is cut off").nth(c.placeName(), c.seq).end()
	c.answer(failed(ErrReset, false))
}

// cutConnection ends the connection to a place. What was sent to it stays on its
// way; who waits for an answer is told.
func (p *process) cutConnection(i int) {
	p.links[i].life = 0
	for c := range p.calls {
		if &p.links[i] == c.link() {
			p.w.push(p.w.now.Load(), c.tie(5), p, &reset{c})
		}
	}
}

// do waits for the answer on a channel of its own. The context's end comes by way
// of the driver like everything else: a select with two cases that are both ready
// would be a coin that the runtime tosses.
func (c *call) do() *answer {
	c.reply = make(chan *answer, 1)
	if c.p.dead.Load() {
		c.p.remain()
		return failed(ErrCrashed, true)
	}
	if t, ok := c.ctx.(*timeout); ok && t.watch(c) {
		c.p.post(c)
		a := <-c.reply
		t.unwatch(c)
		return a
	}
	stop := context.AfterFunc(c.ctx, func() { c.cancel(context.Cause(c.ctx)) })
	c.p.post(c)
	a := <-c.reply
	stop()
	return a
}

// cancel tells the driver that the call's context has ended.
func (c *call) cancel(cause error) { c.p.post(&cancel{call: c, err: cause}) }
