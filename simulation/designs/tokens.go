package designs

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// incr raises the counter by one and takes it for the token.
func incr(s Session) (fencing.Token, error) {
	reply, err := s.Do("INCR", s.Counter())
	if err != nil || reply.Int < 0 {
		return 0, err
	}
	return fencing.Token(reply.Int), nil
}

// acquireAndIncr counts each lock that is had, in two commands. A lock that wasn't
// counted isn't taken for one.
func acquireAndIncr(s Session) (bool, error) {
	if had, err := setNXPX(s); err != nil || !had {
		return false, err
	}
	_, err := incr(s)
	return err == nil, err
}

// readCounter takes the counter, as it stands now, for the token.
func readCounter(s Session) (fencing.Token, error) {
	reply, err := s.Do("GET", s.Counter())
	if err != nil || reply.Null {
		return 0, err
	}
	return fencing.ParseToken(reply.Text)
}

// plainCounters is an instance that counts grants with INCR, from 1, and on which
// no counter is ever raised: a raise is answered without being sent.
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

// number gives a vote its token.
func (i plainCounters) number(ctx context.Context, cmd wire.Request, vote wire.Vote) wire.Vote {
	reply, err := i.redis.Do(ctx, "INCR", cmd.Key+":token")
	if err == nil {
		err = reply.Err
	}
	if err != nil {
		return wire.Vote{Err: err} // the key is set, but a grant without a number is of no use
	}
	vote.Token = fencing.Token(reply.Int)
	return vote
}

// tokens are played with a guard on writes. One that admits tokens keeps the data
// whole under any tokens that are handed out in some order; with these it would turn
// the rightful holder away for the one that is late.
func tokens() []Design {
	return []Design{{
		Name: "token-after", Title: "a token from INCR, when it is first needed", Group: Tokens, Servers: 1,
		Source:   "common in articles that add Kleppmann's token to a lock that gives none",
		Promises: "a later holder has a larger token",
		Breaks:   "a holder that is late fetches its token after the next holder did, and has the larger one (S20)",
		Cure:     "token-write",
		Apply:    and(OnOneServer(with(correct, func(r *Recipe) { r.First = incr })), guarded(simulation.GuardWrites)),
	}, {
		Name: "token-current", Title: "a token that is the counter as it stands", Group: Tokens, Servers: 1,
		Source:   "Redisson, RedissonFencedLock.getToken(): GET of the counter, whoever raised it last",
		Promises: "a later holder has a larger token",
		Breaks:   "a holder that is late shows the next holder's token (S21)",
		Cure:     "token-write",
		Apply: and(OnOneServer(with(correct, func(r *Recipe) { r.Acquire, r.Current = acquireAndIncr, readCounter })),
			guarded(simulation.GuardWrites)),
	}, {
		Name: "token-naive-max", Title: "the largest of per-server counters, and no more", Group: Tokens, Servers: 5,
		Source:   "the first idea that one has: INCR on each server that grants, and the maximum; run by this library's quorum package on instances that pretend to raise their counters",
		Promises: "a later holder has a larger token, because two majorities share a server",
		Breaks:   "the shared server needn't be the one with the largest counter: two holders get the same token, or a smaller one (S22)",
		Cure:     "token-write",
		Apply: and(library(func(p simulation.Process, i int) wire.Instance {
			return plainCounters{Instance: p.Instances[i], redis: p.Redis[i], clock: p.Config.Clock}
		}), fenced, oneByOne, guarded(simulation.GuardWrites)),
	}}
}
