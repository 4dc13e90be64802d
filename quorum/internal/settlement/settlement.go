// Package settlement chooses the fencing token of a round, and says which instances count for it.
//
// A round is settled on an instance when the instance has granted it and has counters of at least
// the round's token: its vote has the token and isn't low (wire.Vote.Low), or a raise to the token was
// granted. A round is won when it is settled on a quorum, its settled quorum.
//
// # Why tokens rise
//
// Let A and B be won rounds with the tokens T_A and T_B, A the earlier one, and s an instance in both
// settled quorums. The claim is that T_A < T_B. The token of a round is no less than the votes of its
// settled quorum, so it is enough that B's vote on s is above T_A. A vote is no less than what INCR
// gave.
//
// Case 1: s kept its data. When A was settled on s, s's counter was at least T_A while the key still
// had A's value: the step that set the key counted up to T_A, or a raise found the value in place. B's
// grant on s came after A's value had gone, and nothing lowers a counter. So INCR gave B more than T_A.
// Clocks and pauses have no part in this. Tries that were refused or failed have counted, too. They only
// leave gaps between tokens.
//
// If the counter expired in between, s's clock had passed it. The expiry is tied to the value: a counter
// lives until the clock has passed the value that it started at, or was raised to, by Ahead and the counter's
// TTL, a day or more. INCR adds one at a time, and a server that makes less than half a grant in a
// microsecond can't count faster than half its clock: in the time that is left to the counter it gains at
// most half of that time, and it began no more than Ahead in front of the clock. So the counter was behind
// the clock when it expired. B's request makes a new one, which is low unless it is above the clock. So B's
// vote is above the clock, and above T_A, unless the clock was set back behind T_A after that. If another
// client made the new counter, and died before it raised it, B goes on from what that client took for the
// clock. To be below T_A it would have to lag by as much as the counter lived beyond T_A: by its TTL. A
// client whose two clocks disagree, as after a suspension, doesn't guess.
//
// Case 2: s lost its data after A was settled on it, or came back with older data, after a restart or
// because a replica took its place. Then B was granted in a later run. This takes three steps, each
// enforced by some line, and one assumption.
//
//  1. When A was settled on s, s's clock showed at least T_A - Ahead, where Ahead is half of MaxTTL
//     (Config.ahead). The reply to an acquisition shows the counter and the clock of the atomic step in
//     which the key was set, and a counter further ahead is a *wire.CounterError. A raise beyond that is
//     refused (lift.lua).
//  2. B asked s for a vote at least MaxTTL later. No client asks a server that was restarted or replaced
//     before that (quarantine.State.Identify). The run is vouched for afterwards: the same reply shows the
//     mark and the replication ID of the step in which the key was set. Runs are never reused, so the vote
//     is of the run that the request named, or a *wire.RunError. It counts if no other run was found since
//     (standing.accepts).
//  3. B's vote on s is above T_A. Let the epoch be s's clock when the mark of B's run was written, which
//     was after A was settled on s. If INCR gave B more than epoch + MaxTTL (wire.Fence.Floor), that is
//     above T_A: A's clock showed at most epoch + MaxTTL/2, because clocks agree to within half of MaxTTL,
//     and T_A was at most Ahead in front of it. Otherwise the counter may be an older copy, or be made by
//     this request. It is low, unless it is above s's clock. A low counter's vote is above the clock, too.
//     And by step 2 the clock has passed T_A.
//
// The assumption: the difference between s's clock at A and the clock of s, or of the server in its
// place, at B is the time that passed, to within half of MaxTTL; and the same holds for the moment at which
// the mark was written. At least MaxTTL has passed before B, so the clock shows at least half of MaxTTL more:
// at least T_A. Hence T_A < T_B.
//
// A clock that was wrong when the mark was written, by more than MaxTTL behind, and set right later, leaves
// an epoch that is too low for the whole run. Nobody writes it anew: to a client the step looks the same as a
// suspension of its own machine, which must not cost all others a quarantine.
//
// If the clocks disagree by more than that, and all instances in both quorums lost their data as well,
// T_B may be below T_A, by no more than the excess. A resource that has seen T_A then refuses B. Verify
// reports servers whose clocks are that far apart.
//
// A low vote counts only after a raise, also if it has the round's token. Its counter is lower than its
// vote. If the vote counted without a raise, INCR could give the next round less than T_B.
//
// # Leases that are passed on
//
// A lease that passes from one goroutine of a process to the next keeps its value, and its token rises by one
// (wire.Pass). That is a raise once more: a quorum lifts its counters to the new token in the step that finds the
// value in place. So the claim holds with T_A as the last token under the value and with the quorum of the last pass.
// The tokens under one value rise, and they were given to nobody else: between the first of them and the last no other
// round was won, because a quorum had the value all the time. Tries that were refused may have counted beyond
// them. Step 1 holds, because a pass to a token that is further ahead is refused, as a raise is.
//
// # Several keys
//
// A round for several keys has one token for all of them, and each key has a counter. Then a round is
// settled on s when each of its counters there is at least its token. The claim holds for any two won
// rounds A and B with a key k in common, for one key or for several:
//
// Case 1: s kept k's counter. When A was settled on s, that counter was at least T_A while k still had A's
// value: either A's vote there was T_A and not low, so that INCR gave T_A for each of the keys in the step
// that set them all; or a raise found the value on all keys, k among them, and lifted all counters. B was
// granted s only with k free of A's value, so later. B's vote is the largest that any of its keys would
// give, and INCR gave more than T_A for k.
//
// Case 2: s lost k's counter, or has an older one. Steps 1 and 2 are as above: the bound holds for each of
// the counters. In step 3 k alone would give a vote above T_A, and B's is no less.
//
// If a key was lost on s between A's grant and the decision, and A's vote was T_A, s counts although B may
// have been granted k there meanwhile. That is the same for one key, and does no harm to the order: B's
// grant came after A's.
//
// # What case 1 requires
//
// Case 1 also requires that a server carries out no Acquire twice. If a copy arrives after A's key was lost,
// and after a later holder had its turn, it sets A's value again, and a raise that is still under way
// counts: both rounds may then have one token. No TCP connection repeats a request, and clients don't, but
// a proxy might.
//
// And that a server doesn't take back its data within a run. DEBUG RELOAD NOSAVE does: it loads older data,
// and changes neither run ID, replication ID nor mark.
//
// # What case 2 requires
//
// Case 2 also requires:
//   - Servers show their runs, and RestartQuarantine is on. A client that doesn't know a run names none, and
//     takes any counter that hasn't been lost for a good one. A run without a mark has no epoch. There the
//     server's clock when the client found the run takes its place, which is later.
//   - The client that asks s knows that it has to wait: it has seen the earlier run, or the mark on s is
//     young, or s shows its uptime. A client that starts after a failover to a replica that has been up for
//     long knows none of these, if s can keep no mark. Nor does a client wait for a server that the operator
//     vouches for. Whoever vouches says that the server has every counter. Then Floor is the epoch.
//   - Runs are never reused. A master that is demoted and becomes master again without a restart, and without
//     what its successor granted, has the same run ID, but another replication ID, and another mark or none.
//   - A name does not come back to a server that it led to before, in the same run, later than MaxTTL after the
//     last vote at another server (quarantine.State.Known). If it does, the counter there goes on from its old
//     value, and tokens fall.
//   - A name that moves leads nobody to the old server after its mark was written on the new one. For as long
//     as connections may (wire.Instance.ConnLife), A may be settled on the old server after that. Then B comes
//     at least MaxTTL less ConnLife after A, and the clocks have to agree to within half of MaxTTL less ConnLife.
//
// A counter that is evicted within a run, or flushed where no mark is kept, also starts from the clock, but no
// client waits. In this case, and in the two without a wait above, tokens rise if T_A was no further ahead of
// s's clock than the time from A to B. Usually T_A is behind that clock: a counter gets ahead of its server's
// clock only if another server's clock is ahead, and where it starts, by no more than four InstanceTimeouts
// (startToken in package quorum).
package settlement

import (
	"fmt"
	"iter"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Rules say which token a round can settle on.
type Rules struct {
	Quorum int
	Ahead  time.Duration // see wire.Fence
}

// Choose finds the token of a round: the largest of the votes' tokens that a quorum can have. agree is how
// many instances can have it. If no quorum can have any token, it is the one that the most instances can
// have, the lowest of several.
//
// The token isn't simply the largest: a server whose clock is far ahead takes a lost counter for that clock,
// and would raise the others. Such a server loses its own vote, and no more.
func (r Rules) Choose(votes iter.Seq[*wire.Vote]) (token fencing.Token, agree int) {
	for vote := range votes {
		if vote.Outcome != wire.Granted || agree > 0 && vote.Token == token {
			continue
		}
		n := 0
		for other := range votes {
			if r.canHave(other, vote.Token) {
				n++
			}
		}
		//guard:largest-token  the token is the largest that a quorum can have
		if n >= r.Quorum && (agree < r.Quorum || vote.Token > token) ||
			agree < r.Quorum && (n > agree || n == agree && vote.Token < token) {
			token, agree = vote.Token, n
		}
	}
	return token, agree
}

// canHave reports whether an instance with this vote can have the token: it granted no larger one, and its
// counter may be raised so far ahead of its clock.
func (r Rules) canHave(vote *wire.Vote, token fencing.Token) bool {
	//guard:no-vote-above  no instance that counts for a token has granted a larger one
	return vote.Outcome == wire.Granted && vote.Token <= token &&
		// Its clock must let its counter go so far.
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
	return fmt.Errorf("its counter, from its clock, is %v %s the others' (at most %v); set the servers' clocks right",
		by, word, r.Ahead)
}

// IsBehind reports whether the counters of an instance with this vote have to be raised to the token before
// the instance counts for it.
func IsBehind(vote *wire.Vote, token fencing.Token) bool {
	//guard:lower-is-raised  a counter below the token is raised before it counts
	//guard:low-is-raised  a counter that is lower than its vote is raised before it counts, also if the vote has the token
	return vote.Token < token || vote.Low
}

// Counts is nil if an instance that has the token counts for it. It doesn't if it granted a larger one. When
// the token is fixed, only a late vote can be larger, or that of an instance that Choose left out.
func Counts(vote *wire.Vote, token fencing.Token) error {
	//guard:above-is-not-settled  a late grant above the token doesn't count for it
	if vote.Token <= token {
		return nil
	}
	return fmt.Errorf("it granted the token %d, when the round had settled on %d", vote.Token, token)
}
