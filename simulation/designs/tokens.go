package designs

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// plainCounters is an instance that counts grants with INCR, from 1. It tells no clock, or the library would
// take the counters for lost ones, and answers raises without sending them.
type plainCounters struct {
	wire.Instance
	redis simulation.Redis
	clock clock.Clock
}

func (i plainCounters) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if cmd.Op == wire.Raise {
		to.Receive(wire.Vote{Outcome: wire.Granted})
		return
	}
	count := cmd.Op == wire.Acquire && cmd.Fence.On
	cmd.Fence.On = false
	ctx, cancel := i.clock.WithTimeout(context.Background(), timeout)
	i.Instance.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if !count || vote.Outcome != wire.Granted {
			cancel()
			to.Receive(vote)
			return
		}
		go func() {
			defer cancel()
			to.Receive(i.number(ctx, cmd, vote))
		}()
	}))
}

// number sets the token of a vote.
func (i plainCounters) number(ctx context.Context, cmd wire.Request, vote wire.Vote) wire.Vote {
	reply, err := i.redis.Do(ctx, "INCR", cmd.Keys[0]+":token")
	if err == nil {
		err = reply.Err
	}
	if err != nil {
		return wire.Vote{Err: err} // the key is set, but the grant has no token
	}
	vote.Token, vote.Clock = fencing.Token(reply.Int), time.Time{}
	return vote
}

// tokens are used with a guard on writes. A guard that admits tokens protects the data under any
// order of tokens; with these it would refuse the current holder in favour of a late one.
func tokens() []Design {
	return []Design{{
		Name: "token-after", Title: "a token from INCR, when it is first needed", Group: Tokens, Servers: 1,
		Source: "common in articles that add Kleppmann's token to a lock that gives none",
		Breaks: "a late holder fetches its token after the next holder did, and has the larger one (S20)",
		Cure:   "token-write",
		Apply:  and(OnOneServer(with(correct, func(r *Recipe) { r.Token, r.TokenOnce = Command{"INCR", "COUNTER"}, true })), guarded(simulation.GuardWrites)),
	}, {
		Name: "token-current", Title: "a token that is the current value of the counter", Group: Tokens, Servers: 1,
		Source: "Redisson, RedissonFencedLock.getToken(): GET of the counter, whichever client incremented it last",
		Breaks: "a late holder shows the next holder's token (S20)",
		Cure:   "token-write",
		Apply: and(OnOneServer(with(correct, func(r *Recipe) {
			r.Acquire, r.Token = Commands("SET KEY VALUE NX PX MS; INCR COUNTER"), Command{"GET", "COUNTER"}
		})),
			guarded(simulation.GuardWrites)),
	}, {
		Name: "token-naive-max", Title: "the largest of per-server counters", Group: Tokens, Servers: 5,
		Source: "FuelLabs/fuel-core, docs/poa/failover.md at 289dd7e: SET NX and INCR in one script on a majority, and the maximum; the holder's first write raises the counters that lag. Run by this library's quorum package on instances that only pretend to raise their counters, as they are before that write",
		Breaks: "the shared server needn't be the one with the largest counter: the next holder gets the same token, or a smaller one (S22). FuelLabs' servers also compare the holder at the write",
		Cure:   "token-write",
		Apply: and(library(func(p simulation.Process, i int) wire.Instance {
			return plainCounters{Instance: p.Instances[i], redis: p.Redis[i], clock: p.Config.Lab.Clock}
		}), fenced, guarded(simulation.GuardWrites)),
	}}
}
