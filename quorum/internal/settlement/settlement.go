// Package settlement chooses the fencing tokens of a round, and says which instances count for
// them.
//
// A round is settled when a quorum of instances has granted it and has a counter of at least its
// token. Those instances are its settled quorum.
//
// A round that reserves tokens has several: T, the last one, and those below it down to its
// first, F. Without reserved tokens F is T. For each settled instance F is at least the first
// token of that instance's vote, and T at least the last one.
//
// # Why tokens rise
//
// Let A and B be won rounds, A the earlier one, and s an instance in both settled quorums. The
// claim is that T_A < F_B.
//
// Case 1: s kept its data. When A was settled on s, s's counter was at least T_A while the key
// still had A's value: either A's vote there was T_A, or a raise found the value in place. B's
// grant on s came after A's value had gone, and the counter only rises, so the first token of
// B's vote on s is above T_A. F_B is no less than that. Clocks and pauses have no part in this.
//
// Case 2: s lost its data after A was settled on it, or came back with older data, after a
// restart or because a replica took its place. This takes three steps, each enforced by some
// line, and one assumption.
//
//  1. When A was settled on s, s's clock showed at least T_A - Ahead, where Ahead is half of
//     MaxTTL (Config.ahead). s refuses a grant and a raise beyond that: most in counter.lua
//     bounds every grant, and lift.lua every raise.
//  2. B asked s for a vote at least MaxTTL later. No client asks a server that was restarted
//     or replaced before that (quarantine.State.Identify), and a vote counts only from the run
//     of the server that the request named (standing.accepts).
//  3. The first token of B's vote on s is above s's clock at B. If the last grant from a counter
//     was in another run, or the counter was lost, the first grant in a run raises it to the
//     clock, or above it to where the request says (tokenof in acquire.lua; see Request.Run and
//     Fence.Token).
//
// The assumption: the difference between s's clock at A and the clock of s, or of the server in
// its place, at B is the time that passed, to within half of MaxTTL. At least MaxTTL has passed,
// so the clock shows at least half of MaxTTL more: at least T_A. Hence T_A < F_B. The rate at
// which tokens are given doesn't matter: a server that gives them faster than its clock ticks
// reserves fewer, and then none.
//
// If the clocks disagree by more than that, and all instances in both quorums lost their data as
// well, F_B may be below T_A, by no more than the excess. A resource that has seen T_A then
// refuses B. Verify reports servers whose clocks are that far apart.
//
// # Several keys
//
// A round for several keys has one token for all of them, and each key has a counter. Then a
// round is settled on s when each of its counters there is at least its token. The claim holds
// for any two won rounds A and B with a key k in common, for one key or for several:
//
// Case 1: s kept k's counter. When A was settled on s, that counter was at least T_A while k
// still had A's value: either A's vote there was T_A, and the grant raised all counters to it
// in the step that set all keys; or a raise found the value on all keys, k among them, and lifted
// all counters. B was granted s only with k free of A's value, so later. B's vote is the largest
// token that any of its keys' counters would give, so its first token is above k's counter.
//
// Case 2: s lost k's counter, or k's record names another run. Steps 1 and 2 are as above: the
// bound holds for the token, so for every counter that is raised to it. In step 3 k's counter
// would give a token above s's clock, and B's is no less.
//
// If a key was lost on s between A's grant and the decision, and A's vote was T_A, s counts
// although B may have been granted k there meanwhile. That is the same for one key, and does no
// harm to the order: B's grant came after A's.
//
// # What case 1 requires
//
// Case 1 also requires that a server carries out no Acquire twice. If a copy arrives after A's key
// was lost, and after a later holder had its turn, it sets A's value again, and a raise that is
// still under way counts: both rounds may then have one token. No TCP connection repeats a
// request, and clients don't, but a proxy might.
//
// Package simulation/internal/machine has this argument as an abstract machine, looks at all states
// of small ones, and compares simulated runs of this library with it.
//
// # What case 2 requires
//
// Case 2 also requires:
//   - Servers show their runs, and RestartQuarantine is on. A client that doesn't know a run
//     names none, and the server goes on from the counter that it has.
//   - The client that asks s knows that it has to wait: it has seen the earlier run, or the mark
//     on s is young, or s shows its uptime. A client that starts after a failover to a replica
//     that has been up for long knows none of these. Nor does a client wait for a server that
//     the operator vouches for. Then only the time that s was down has passed between A and B.
//   - Runs are never reused. A master that is demoted and becomes master again without a restart,
//     and without what its successor granted, has the same run ID, but another replication ID,
//     and another mark or none.
//   - A name does not come back to a server that it led to before, in the same run, later than
//     MaxTTL after the last vote at another server (quarantine.State.Known). If it does, the
//     counter there goes on from its old value, and tokens fall.
//
// A counter that is evicted within a run, or flushed where no mark is kept, also starts from the
// clock, but no client waits. In this case, and in the two without a wait above, tokens rise if
// T_A was no further ahead of s's clock than the time from A to B. Usually T_A is behind that
// clock: a counter gets ahead of its server's clock only if another server's clock is ahead, and
// where it starts, by no more than half an InstanceTimeout (startToken in package quorum).
package settlement

import (
	"fmt"
	"iter"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Tokens are the tokens of a round: the last one, and those right below it that are reserved
// for successors.
type Tokens struct {
	Last     fencing.Token
	Reserved int
}

// First is the first of the tokens.
//
//guard:reserved-below-token  the reserved tokens are settled together with the token
func (t Tokens) First() fencing.Token { return t.Last - fencing.Token(t.Reserved) }

// Rules say which tokens a round can settle on.
type Rules struct {
	Quorum int
	Ahead  time.Duration // see wire.Fence
}

// Choose finds the tokens of a round. The last one is the largest of the votes' tokens that a
// quorum can have. agree is how many instances can have it. If no quorum can have any token, it
// is the one that the most instances can have, the lowest of several.
//
// The token isn't simply the largest: a server whose clock is far ahead may have started a lost
// counter from that clock, and would raise the others. Such a server loses its own vote, and
// no more.
func (r Rules) Choose(votes iter.Seq[*wire.Vote]) (chosen Tokens, agree int) {
	for vote := range votes {
		if vote.Outcome != wire.Granted || agree > 0 && vote.Token == chosen.Last {
			continue
		}
		n, first := 0, fencing.Token(0)
		for other := range votes {
			if r.canHave(other, vote.Token) {
				n++
				//guard:first-is-new  a round's reserved tokens are new on each instance that counts for the token
				first = max(first, other.First())
			}
		}
		//guard:largest-token  the token is the largest that a quorum can have
		if n >= r.Quorum && (agree < r.Quorum || vote.Token > chosen.Last) ||
			agree < r.Quorum && (n > agree || n == agree && vote.Token < chosen.Last) {
			chosen, agree = Tokens{Last: vote.Token, Reserved: int(vote.Token - first)}, n
		}
	}
	return chosen, agree
}

// canHave reports whether an instance with this vote can have the token: it granted no larger
// one, and its counter may be raised so far ahead of its clock.
func (r Rules) canHave(vote *wire.Vote, token fencing.Token) bool {
	//guard:no-vote-above  no instance that counts for a token has granted a larger one
	return vote.Outcome == wire.Granted && vote.Token <= token &&
		//guard:clock-bounds-token  a server counts for a token only if its clock lets its counter go so far
		(vote.Clock.IsZero() || vote.Token == token || int64(token) <= vote.Clock.Add(r.Ahead).UnixMicro())
}

// Obstacle says why an instance that granted can't have the token, nil if it can.
func (r Rules) Obstacle(vote *wire.Vote, token fencing.Token) error {
	if vote.Outcome != wire.Granted || r.canHave(vote, token) {
		return nil
	}
	by, word := time.Duration(int64(vote.Token-token))*time.Microsecond, "ahead of"
	if vote.Token < token {
		by, word = time.UnixMicro(int64(token)).Sub(vote.Clock), "behind"
	}
	return fmt.Errorf("its counter, which starts from its clock, is %v %s those of other instances, which follow by %v at most (half of MaxTTL); set the clocks of the servers right, or wait until they have caught up",
		by, word, r.Ahead)
}

// Counts is nil if an instance that has the token counts for the tokens. It doesn't if it granted
// a larger one, or reserved fewer than the round has. The proof needs the round's first token to
// be no less than the first token of every settled vote, and its last one no less than the last.
// When the tokens are fixed, only a late vote can fail this, or an instance that Choose left out.
func (t Tokens) Counts(vote *wire.Vote) error {
	//guard:above-is-not-settled  a late grant above the token doesn't count for it
	//guard:reserved-is-settled  a late grant that reserved fewer tokens than the round has doesn't count for it
	if vote.Token <= t.Last && vote.First() <= t.First() {
		return nil
	}
	return fmt.Errorf("it granted the tokens %d to %d, when the round had settled on %d to %d", vote.First(), vote.Token, t.First(), t.Last)
}
