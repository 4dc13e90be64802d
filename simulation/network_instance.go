package simulation

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// instance is one process's access to a server.
type instance struct {
	p     *process
	place int
}

var _ wire.Instance = instance{}

func (i instance) Name() string { return i.p.w.servers[i.place].name }

func (i instance) ConnLife() time.Duration { return 0 }

func (i instance) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	i.post(&call{cmd: cmd}, timeout, to)
}

// post sends a call without waiting for its reply.
func (i instance) post(c *call, timeout time.Duration, to wire.Receiver) {
	if i.p.Dead.Load() {
		to.Receive(failed(ErrCrashed, true).vote)
		return
	}
	c.p, c.place, c.name, c.to, c.due = i.p, i.place, c.cmd.Op.String(), to, i.p.Clock.Mono()+int64(timeout)
	i.p.Post(c)
}

func (i instance) Probe(ctx context.Context, before wire.Known) (wire.Identity, error) {
	c := &call{p: i.p, place: i.place, name: wire.Probe.String(), cmd: wire.Request{Op: wire.Probe}, probe: true, known: before, ctx: ctx}
	if err := ctx.Err(); err != nil {
		return wire.Identity{}, err
	}
	a := c.do()
	if a.id == nil {
		return wire.Identity{}, a.vote.Err
	}
	return *a.id, nil
}
