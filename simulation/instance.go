package simulation

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// instance is a server as one process reaches it.
type instance struct {
	p     *process
	place int
}

var _ quorum.Instance = instance{}

func (i instance) Name() string { return i.p.w.places[i.place].name }

func (i instance) ConnLife() time.Duration { return i.p.w.cfg.ConnLife }

func (i instance) Send(cmd quorum.Command, timeout time.Duration, to quorum.Receiver) {
	if i.p.dead.Load() {
		to.Receive(failed(ErrCrashed, true).vote)
		return
	}
	i.p.post(&call{p: i.p, place: i.place, name: cmd.Op.String(), cmd: cmd, to: to, due: i.p.clock.mono() + int64(timeout)})
}

func (i instance) Probe(ctx context.Context, before quorum.Known) (quorum.Identity, error) {
	c := &call{p: i.p, place: i.place, name: quorum.Probing.String(), cmd: quorum.Command{Op: quorum.Probing}, probe: true, known: before, ctx: ctx}
	if err := ctx.Err(); err != nil {
		return quorum.Identity{}, err
	}
	a := c.do()
	if a.id == nil {
		return quorum.Identity{}, a.vote.Err
	}
	return *a.id, nil
}
