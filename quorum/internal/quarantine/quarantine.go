// Package quarantine decides whether one server may vote.
package quarantine

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// State is what one client knows about the server behind one instance, and whether that
// server may vote. It is a value without a lock.
//
// A vote must stand for a TTL. A server that was restarted or promoted, that took the place
// of another one, or whose clock was stepped forward may have forgotten some. After MaxTTL
// every lease that rests on a forgotten vote has expired ("delayed restarts" in the Redis
// document, enforced by the client).
//
// No persistence setting is an exemption: appendfsync always doesn't tell whether the disk
// is the same one, nor how old its data is.
//
// Time is the client's monotonic clock: a wall clock that is stepped forward would end a
// quarantine early, and a monotonic clock that stands still only prolongs it.
type State struct {
	length time.Duration // MaxTTL and the drift allowance on it
	drift  drift.Allowance

	id       wire.Identity // what the last probe found; only RunID, ReplID, Mark and Role are kept
	run      wire.Run      // of id
	seen     drift.Instant // when the server last answered in that run
	unmarked bool          // the last probe found a master that could not keep a mark then
	voter    string        // the run ID of the server whose vote counted last
	voted    drift.Instant // when that vote was asked for
	sighted  string        // the replication ID of another run that has answered since, "several" if they were two

	trusted bool      // whoever vouches for this run says that it has forgotten nothing
	first   time.Time // the server's clock when the run was found; zero: hidden
	restart reason    // it may have been restarted or replaced
	jump    reason    // its clock jumped
}

// New returns the State of a server that was not probed yet. The length is MaxTTL and the
// drift allowance on it.
func New(length time.Duration, allowance drift.Allowance) State {
	return State{length: length, drift: allowance}
}

// Exclusion says why a server may not vote, and for how long. The zero Exclusion: it may.
type Exclusion struct {
	// Jumped says that its clock jumped. Otherwise it may have been restarted or replaced.
	Jumped bool
	// Detail says what was seen.
	Detail string
	// Remaining is how long the quarantine still lasts, and Until when it ends by the
	// client's wall clock.
	Remaining time.Duration
	Until     time.Time
}

// MayVote reports whether there is no quarantine.
func (v Exclusion) MayVote() bool { return v.Remaining <= 0 }

// reason is a reason for a quarantine, which lasts until a monotonic time.
type reason struct {
	until  time.Duration
	detail string
}

// Run is the run of the server that the last probe found.
func (q *State) Run() wire.Run { return q.run }

// RunID is the run ID that the last probe found.
func (q *State) RunID() string { return q.id.RunID }

// Unmarked reports whether the last probe found a master that could not keep a mark then.
func (q *State) Unmarked() bool { return q.unmarked }

// Identify takes in the answer to a probe. It returns the quarantine if a new one begins.
//
// Another run ID, another replication ID or another mark is another run, and every other run is
// a quarantine. A master also draws a new replication ID when its first replica or a backup
// connects, and repl-backlog-ttl after the last one has left. It forgets nothing then, but a
// promotion looks the same: it leaves a second replication ID, which a server drops in time.
func (q *State) Identify(id wire.Identity, now drift.Instant) Exclusion {
	before, sighted, seen := q.id, q.sighted, q.seen
	q.id, q.sighted, q.seen = wire.Identity{RunID: id.RunID, ReplID: id.ReplID, Mark: id.Mark, Role: id.Role}, "", now
	q.run = q.id.Run()
	q.unmarked = id.Served >= 0 && id.Mark == "" && id.Run() != ""
	if !sameRun(before, id) {
		q.trusted, q.first = false, id.Clock
	}
	was := q.restart
	switch {
	//guard:run-id-changed  a server whose run ID changed is put into quarantine
	case before.RunID != "" && id.RunID != before.RunID:
		// It may be the same server after a restart, or a replica that never had the data,
		// and its uptime doesn't tell which. If it hides its run ID now, a restart may have
		// brought back the settings for that.
		why := "its run ID changed: restarted or replaced"
		if id.RunID == "" {
			why = "it hides its run ID now"
		}
		t := q.from(now, "%s", why)
		// If yet another server has answered since, the age of this one's mark says nothing.
		if sighted == "" || sighted == id.ReplID {
			t.until -= q.ageSince(seen, id, now)
		}
		q.begin(t)
	//guard:two-servers-one-name  two servers that answer under one name by turns don't vote
	case sighted != "" && sighted != id.ReplID:
		q.begin(q.from(now, "a server with the replication ID %.8s answered in place of %.8s", sighted, orHidden(id.ReplID)))
	//guard:replication-id-changed  a server whose replication ID changed may have been promoted without a restart
	case before.ReplID != "" && id.ReplID != before.ReplID:
		q.begin(q.markedAnew(before, id, q.from(now, "its replication ID changed, as by a promotion or a first replica")))
	case before.Mark != "" && id.Mark == "":
		q.begin(q.from(now, "its mark can't be read or kept any more"))
	//guard:epoch-changed  a server whose mark was left anew is put into quarantine
	case before.Mark != "" && id.Epoch() != before.Epoch():
		// Invariant: a vote counts only while the mark stays that was there when the vote
		// was asked for. A client writes a new mark if the name has led to another server
		// meanwhile whose votes still count, and the mark is gone if the data is. Another set in the
		// mark doesn't matter here: nothing was forgotten.
		q.begin(q.markedAnew(before, id, q.from(now, "its mark is new or gone: it lost data, or was another server")))
	case (before.RunID != "" || before.ReplID != "") && (before.Mark != "" || id.Mark == ""):
		// Known before.
	case id.Promoted && id.Served < 0:
		// Also if the operator vouches for its process, which is the same after a demotion.
		q.begin(q.from(now, "it was promoted, or resumed an older server's history, since it came up, and doesn't say when"))
	case id.Vouched && !id.Promoted && id.Uptime >= 0 && id.Uptime < q.length:
		// A server that has been up for longer may have been emptied since the operator
		// vouched for it, or the name may have led to another server.
		q.trusted = true
	default:
		q.begin(q.firstSight(id, now))
	}
	return q.renewed(was, now)
}

// begin begins a quarantine because of another run. The longer one counts: a server that hides its
// run is never known.
func (q *State) begin(t reason) {
	if t.until > q.restart.until {
		q.restart = t
	}
}

// markedAnew shortens a quarantine by the age of the mark that began it, as for a client that starts
// (firstSight). What the votes of another server, or of an earlier run, were good for ends within a
// quarantine of the mark. If the server hides its run ID, it may be another one.
func (q *State) markedAnew(before, id wire.Identity, t reason) reason {
	if id.Mark != "" && id.RunID != "" && id.RunID == before.RunID {
		t.until -= id.Served
	}
	return t
}

// firstSight is the quarantine of a server that this client has never seen before.
//
// Invariant: the votes of a server count only after its name has led to its present run for
// the length of a quarantine. What the server says about itself doesn't show that: a spare
// server may have been up for days when the name is moved to it, while leases rest on votes
// of the server that the name led to before. Only clients can know, by the mark that they
// write on the server (Identity.Served). A promotion is a new run, so the mark also shows
// when the name first led to that.
func (q *State) firstSight(id wire.Identity, now drift.Instant) (t reason) {
	switch {
	//guard:served-for-a-quarantine  a server votes only after clients have reached it under its name for the length of a quarantine
	case id.Served >= 0 && id.Served < q.length && (id.Uptime < 0 || id.Served < id.Uptime):
		why := "it is new under this name, or lost its data"
		if id.Served > 0 {
			why = fmt.Sprintf("it has been used under this name only for %v", id.Served.Round(time.Millisecond))
		}
		t = q.from(now, "%s", why)
		t.until -= id.Served
	//guard:up-for-a-quarantine  a server votes only after it has been up for the length of a quarantine
	case id.Uptime >= 0 && id.Uptime < q.length:
		// Uptime is rounded down, so this counts from no earlier than the start.
		t = q.from(now, "it came up %v ago and may have lost votes", id.Uptime)
		t.until -= id.Uptime
	}
	return t
}

// ageSince is how long a server whose run ID is new to this client has served under its name, as far as
// that counts for a client that last saw another run ID there, at seen.
//
// It counts as it does for a client that starts (firstSight), which has the same assumptions: this
// client was cut off, and others use the server already. What the mark shows: it names the process
// and its replication ID, so it isn't older than this run, also if it was loaded from a disk or came
// from a master that this server was a replica of. The first client that came after the start wrote
// it. All votes of earlier runs were asked for before: this client would have had the mark written
// anew if a vote of another server had counted here since (Known), and so would every other client
// that has probed the server since.
// A server that hides its run ID may be another process, and one without a mark shows nothing.
//
// Invariant: the age counts only for a mark that was written after this client saw the earlier run,
// by its own clock. An older mark is of a server that the name has led to before, and may lead to by
// turns: other clients may have votes of the earlier one since. It may also seem older, because the
// server's clock was set forward after the restart. So that clock doesn't matter to a client that
// sees the server all the time.
func (q *State) ageSince(seen drift.Instant, id wire.Identity, now drift.Instant) time.Duration {
	if id.RunID == "" || id.ReplID == "" {
		return 0
	}
	unseen := drift.AtLeast(seen, now)
	// A mark that is older was written while the client still saw the earlier run.
	if id.Served > unseen-q.drift.Of(unseen) {
		return 0
	}
	age := id.Served
	if id.Uptime >= 0 {
		age = min(age, id.Uptime)
	}
	return max(0, age)
}

// AnsweredBy notes that a server answered in another run than the one that was asked. It
// reports whether the server must be probed.
//
// Invariant: if a master answers under the instance's name, another client may have its
// vote. So the next probe decides (see Identify): if it reaches another server than the one
// that was seen here, there are two, and a quarantine begins.
func (q *State) AnsweredBy(other *wire.RunError) (unknown bool) {
	switch {
	case !other.Master():
		return true // it granted nothing to any client, but may be the only server now
	case other.Found != "" && other.Found == q.run:
		return false // a probe has found it since
	case q.sighted == "":
		q.sighted = orHidden(other.Found.ReplID())
	case q.sighted != other.Found.ReplID():
		q.sighted = "several" // no probe finds this
	}
	return true
}

// Known is what a probe that is sent now tells the server about this client.
//
// Invariant: it names the last server whose vote counted here until every lease that rests
// on its votes has expired, which is by the larger of two clocks. The time since then is
// never taken for longer than it was.
func (q *State) Known(now drift.Instant) wire.Known {
	k := wire.Known{RunID: q.id.RunID, Epoch: q.id.Epoch()}
	if q.voter == "" || drift.Elapsed(q.voted, now) >= q.length {
		return k
	}
	// The server's clock and this one may run at different rates.
	ago := drift.AtLeast(q.voted, now)
	k.Voter, k.Ago = q.voter, max(0, ago-q.drift.Of(ago))
	return k
}

// Seen notes that the server answered.
func (q *State) Seen(now drift.Instant) { q.seen = later(q.seen, now) }

// GrantAccepted notes that a vote counted that was asked for in the server's present run.
func (q *State) GrantAccepted(sent, received drift.Instant) {
	q.Seen(received)
	if q.voter != q.id.RunID {
		q.voter, q.voted = q.id.RunID, sent
	}
	q.voted = later(q.voted, sent)
}

// later is the later one of two instants of one Reader.
func later(a, b drift.Instant) drift.Instant {
	if b.Mono > a.Mono {
		return b
	}
	return a
}

func (q *State) from(now drift.Instant, detail string, args ...any) reason {
	return reason{until: now.Mono + q.length, detail: fmt.Sprintf(detail, args...)}
}

// renewed is the quarantine for a restart, unless it is known already: the same start may be
// seen again with another rounding.
func (q *State) renewed(was reason, now drift.Instant) Exclusion {
	if was.until == 0 || q.restart.until > was.until+time.Second {
		return q.restart.exclusion(false, now)
	}
	return Exclusion{}
}

// Jumped begins a quarantine because the server's clock jumped.
func (q *State) Jumped(jump drift.Jump, now drift.Instant) Exclusion {
	detail, _, _ := strings.Cut(jump.String(), " within") // which tells the pause between two readings
	//guard:jump-quarantined  a server whose clock jumped is put into quarantine
	q.jump = reason{until: now.Mono + q.length, detail: detail}
	return q.jump.exclusion(true, now)
}

// JumpedEverywhere notes that all servers' clocks jumped as this one's did. It reports whether that
// is news.
func (q *State) JumpedEverywhere() bool {
	news := !strings.HasSuffix(q.jump.detail, everywhere)
	if news {
		q.jump.detail = "all clocks" + strings.TrimPrefix(q.jump.detail, "its clock") + everywhere
	}
	return news
}

const everywhere = ", or this machine was suspended"

// Trust ends the quarantine for a restart if the last probe found this run, and reports whether it
// did. It isn't remembered: a server that returns after another one had its place lacks the votes of
// that one.
func (q *State) Trust(id wire.Identity) (found bool) {
	//guard:trust-one-run  Trust is for the run that it found
	if sameRun(id, q.id) {
		q.restart, q.trusted = reason{}, true
		return true
	}
	return false
}

// sameRun reports whether two probes found one run. The set in the mark is no part of it.
func sameRun(a, b wire.Identity) bool {
	return a.RunID == b.RunID && a.ReplID == b.ReplID && a.Epoch() == b.Epoch()
}

// lostBelow is March 1973 in microseconds. No server's clock has started a counter so low, so a
// counter that is no larger was lost, or has expired.
const lostBelow = 100_000_000_000_000

// Floor is wire.Fence.Floor for a request in the run that the last probe found: the largest token
// that a counter from before the run can have come to. Package settlement has the reason. Of a run without
// a mark it counts from when this client found it. Of a run that is hidden nothing is known, and only a lost
// counter shows. A run that the operator vouches for has forgotten none.
func (q *State) Floor(maxTTL time.Duration) fencing.Token {
	since := q.run.Since()
	if since.IsZero() && q.run != "" {
		since = q.first
	}
	if since.IsZero() {
		return lostBelow
	}
	if !q.trusted {
		since = since.Add(maxTTL)
	}
	return fencing.Token(max(lostBelow, since.UnixMicro()))
}

// Check says whether the server may vote.
func (q *State) Check(now drift.Instant) Exclusion {
	if q.jump.until > q.restart.until {
		return q.jump.exclusion(true, now)
	}
	//guard:restart-quarantine  a server that is in quarantine because of another run doesn't vote
	return q.restart.exclusion(false, now)
}

func (t reason) exclusion(jumped bool, now drift.Instant) Exclusion {
	left := t.until - now.Mono
	if t.until == 0 || left <= 0 {
		return Exclusion{}
	}
	return Exclusion{Jumped: jumped, Detail: t.detail, Remaining: left, Until: now.Wall.Add(left)}
}

func orHidden(id string) string {
	if id == "" {
		return "hidden"
	}
	return id
}
