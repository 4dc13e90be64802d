package main

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/election"
)

// term is a leader's term as a tenure.
type term struct {
	context.Context
	number   fencing.Token
	election *election.Election
}

func (t term) Token() fencing.Token    { return t.number }
func (t term) Validity() time.Duration { return t.election.Validity() }

// Err is why the lease is over. The term ends before it.
func (t term) Err() error {
	if why := context.Cause(t.Context); !errors.Is(why, election.ErrTermOver) {
		return why
	}
	return nil
}

// runElect runs the command while this process leads, each time that it does until the command ends on its own.
func runElect(ctx context.Context, c *client, o *options, s streams) error {
	grace, _ := periods(o.grace, o.ttl)
	e, err := election.New(c.Coordinator, o.keys[0], election.Config{
		Margin: max(grace, time.Millisecond),
		Ended:  func(_ fencing.Token, _, err error) { s.say("elect: %v; waiting to lead again", err) },
	})
	if err != nil {
		return err
	}
	return runWork(ctx, o, s, func(ctx context.Context, r *runner) error {
		return e.Run(ctx, func(ctx context.Context, number fencing.Token) error {
			return r.run(term{ctx, number, e}, o.keys[0])
		})
	})
}
