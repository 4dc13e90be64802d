package simulation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// instance is one process's access to a server: for the library, and by Redis's commands.
type instance struct {
	p     *process
	place int
	again bool // see Again
}

var (
	_ wire.Notifier = instance{}
	_ Redis         = instance{}
)

func (i instance) Name() string { return i.p.w.names[i.place] }

// Again returns an instance by another name, as in a list that has one server twice.
func Again(inst wire.Instance) wire.Instance {
	if i, simulated := inst.(instance); simulated {
		i.again = true
		inst = i
	}
	return renamed{inst}
}

type renamed struct{ wire.Instance }

func (r renamed) Name() string { return r.Instance.Name() + " again" }

func (i instance) ConnLife() time.Duration { return 0 }

// call makes a call that the server executes.
func (i instance) call(name string, execute func(*server, *request)) *call {
	return &call{message: message{p: i.p, place: i.place}, name: name, again: i.again, execute: execute}
}

func (i instance) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if i.p.Dead.Load() {
		to.Receive(failed(ErrCrashed, true).vote)
		return
	}
	c := i.call(cmd.Op.String(), func(s *server, r *request) { s.vote(r, cmd) })
	c.receive, c.due = func(a *answer) { to.Receive(a.vote) }, i.p.Mono()+int64(timeout)
	order := kernel.OpOrder{Op: int(cmd.Op), N: uint64(cmd.Fence.Token), Value: cmd.Value}
	if len(cmd.Keys) > 0 {
		order.Key = cmd.Keys[0]
	}
	c.post(order)
}

// ask makes a call and waits for its answer.
func (i instance) ask(ctx context.Context, c *call, order kernel.OpOrder) *answer {
	if err := ctx.Err(); err != nil {
		return failed(err, true)
	}
	c.ctx = ctx
	return c.do(order)
}

func (i instance) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	c := i.call(wire.Probe.String(), func(s *server, r *request) { s.probe(r, known) })
	a := i.ask(ctx, c, kernel.OpOrder{Op: int(wire.Probe)})
	id, _ := a.value.(wire.Identity)
	return id, a.vote.Err
}

// Subscribe opens a subscription on a connection of its own. Like any request it takes time,
// may be lost, and waits for a server that hangs.
func (i instance) Subscribe(ctx context.Context) (wire.Subscription, error) {
	c := i.call("subscribe", (*server).accept)
	c.opens = &subscription{p: i.p, place: i.place, keys: make(chan string, maxUnread)}
	if err := i.ask(ctx, c, kernel.OpOrder{Op: subscribeOp}).vote.Err; err != nil {
		_ = c.opens.Close() // the server may have accepted it
		return nil, err
	}
	return c.opens, nil
}

func (i instance) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	args = slices.Clone(args)
	name := "no command"
	if len(args) > 0 {
		name = strings.ToLower(args[0])
	}
	execute := func(s *server, r *request) { s.command(r, args) }
	if name == "wait" {
		execute = func(s *server, r *request) { s.wait(r, args) }
	}
	a := i.ask(ctx, i.call(name, execute), kernel.OpOrder{Op: commandOp, Key: strings.Join(args, " ")})
	reply, _ := a.value.(redismodel.Reply)
	return reply, a.vote.Err
}
