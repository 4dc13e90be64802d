package simulation

import (
	"context"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/redismodel"
)

// redisConn is one process's access to a server by Redis's commands.
type redisConn struct {
	p     *process
	place int
}

var _ Redis = redisConn{}

func (d redisConn) Name() string { return d.p.w.servers[d.place].name }

func (d redisConn) Do(ctx context.Context, args ...string) (redismodel.Reply, error) {
	if err := ctx.Err(); err != nil {
		return redismodel.Reply{}, err
	}
	name := "no command"
	if len(args) > 0 {
		name = strings.ToLower(args[0])
	}
	c := &call{p: d.p, place: d.place, name: name, raw: slices.Clone(args), ctx: ctx}
	a := c.do()
	if a.raw == nil {
		return redismodel.Reply{}, a.vote.Err
	}
	return *a.raw, nil
}
