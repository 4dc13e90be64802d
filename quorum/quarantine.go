package quorum

import (
	"fmt"
	"math"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// quarantine says whether one instance may vote. A vote once given must stand
// for a TTL. An instance that was restarted or promoted, that another server took the
// place of, or whose clock was stepped forward may lack some. After MaxTTL every lease
// whose votes it could lack has expired ("delayed restarts" in the Redis document,
// enforced from the client's side).
//
// No way of keeping data is an exemption: that a server says appendfsync always does
// not tell whether the disk is the one that it had, nor from when its data is.
//
// Time is the client's monotonic clock: a wall clock that is stepped forward
// would end a quarantine early, and one that stands still only prolongs it.
type quarantine struct {
	length time.Duration // MaxTTL and the drift allowance on it
	drift  drift.Allowance

	id      wire.Identity // what the last probe found; only RunID, ReplID, Epoch and Role are kept
	seen    drift.Instant // when the server was last asked something that it answered in that run
	noMark  bool          // the last probe found a master that could keep no mark right then
	voter   string        // the run ID of the server whose vote counted last
	voted   drift.Instant // when that was asked for last
	sighted string        // the replication ID that another server, or another run, answered with since

	restart term // why and until when: it may have been restarted or replaced
	jump    term // why and until when: its clock jumped
}

// term is one reason to stay away, until a monotonic time.
type term struct {
	until  time.Duration
	detail string
}

// backlogLife is less than repl-backlog-ttl (an hour, unless it is set), see identify.
const backlogLife = time.Minute

// identify takes in who the server says it is, and reports a new quarantine.
//
// A master also draws a new replication ID when its first replica or a backup connects,
// and repl-backlog-ttl after the last one left. It forgets nothing then, and all masters
// may do so at one time, so that isn't a reason to stay away. It can be told from a
// promotion, after which a server keeps a second replication ID (Identity.Promoted) for
// repl-backlog-ttl at least: so the server must have been seen in the run before less
// than that ago, as a master. Where repl-backlog-ttl is set to less than backlogLife, a
// demotion and a promotion within it can pass unnoticed. Where a mark is kept, the server
// itself decides that in one step, for all clients: the epoch goes on (Known.Lately,
// Identity.Epoch).
//
// Invariant: that time is never taken for shorter than it was. It counts from when the
// server was asked, because it may have answered right then, and by the larger of two
// clocks, because the monotonic one stands still while the client's machine is suspended.
func (q *quarantine) identify(id wire.Identity, sent, now drift.Instant) *QuarantineError {
	before, sighted, seen := q.id, q.sighted, q.seen
	q.id, q.sighted, q.seen = wire.Identity{RunID: id.RunID, ReplID: id.ReplID, Epoch: id.Epoch, Role: id.Role}, "", sent
	q.noMark = id.Served >= 0 && id.Epoch == "" && id.Run() != ""
	was := q.restart
	switch {
	//guard:run-id-changed  a server whose run ID changed is put into quarantine
	case before.RunID != "" && id.RunID != before.RunID:
		// It may be the same data after a restart, or a replica that never had it,
		// and its uptime doesn't tell which. A restart may also be what brought
		// back the settings under which it hides its run ID.
		q.restart = q.from(now, "its run ID changed from %.8s to %.8s", before.RunID, orHidden(id.RunID))
	//guard:two-servers-one-name  two servers that answer under one name by turns don't vote
	case sighted != "" && sighted != id.ReplID:
		q.restart = q.from(now, "a server with the replication ID %.8s answered in place of %.8s", sighted, orHidden(id.ReplID))
	case before.Epoch != "" && id.Epoch == "":
		q.restart = q.from(now, "its mark can't be read or kept any more")
	//guard:epoch-changed  a server whose mark was left anew is put into quarantine
	case before.Epoch != "" && id.Epoch != before.Epoch:
		// Invariant: a vote counts only while the mark that was there when it was asked for
		// stays. A client leaves it anew if its name has led to another server meanwhile,
		// whose votes still count, and it is gone if the data is.
		t := q.from(now, "its mark was left anew or is gone: its data was lost, or the name has led to another server meanwhile")
		if id.ReplID != before.ReplID {
			t = q.from(now, "its replication ID changed from %.8s to %.8s, and its mark with it", before.ReplID, orHidden(id.ReplID))
		}
		// As for a client that starts: if the mark was left because of votes from
		// elsewhere, those have ended when it is as old as a quarantine is long.
		// Where it hides its run ID it may be another server.
		if id.RunID != "" && id.RunID == before.RunID {
			t.until -= max(id.Served, 0)
		}
		if t.until > q.restart.until {
			q.restart = t
		}
	//guard:replication-id-changed  a server whose replication ID changed may have been promoted without a restart
	case before.ReplID != "" && id.ReplID != before.ReplID:
		if before.Epoch != "" && before.RunID != "" && id.ReplID != "" {
			break // the epoch went on, and so did the data
		}
		replica := before.Role != "" && before.Role != wire.RoleMaster
		//guard:replica-was-promoted  a server that was a replica when it was last seen has been promoted if it is a master now
		//guard:replica-costs-no-vote  a master whose first replica connects goes on voting
		//guard:promotion-forgotten  a server that was not seen for longer than it remembers a promotion may have been promoted
		//guard:suspension-counts  the time since a server was last seen is taken from two clocks, so that a suspension counts
		if id.RunID == "" || id.ReplID == "" || id.Promoted || replica || drift.Elapsed(seen, now) >= backlogLife {
			q.restart = q.from(now, "its replication ID changed from %.8s to %.8s, as it does with a promotion", before.ReplID, orHidden(id.ReplID))
		}
	//guard:first-epoch-is-looked-at  a mark that a client finds later than the server counts by its age
	case (before.RunID != "" || before.ReplID != "") && (before.Epoch != "" || id.Epoch == ""):
		// Known before.
	//guard:promotion-date-unknown  a client that starts waits for a server that was promoted at an unknown time
	case id.Promoted && id.Served < 0:
		// Also if somebody vouches for its process, which is the same after a demotion.
		q.restart = q.from(now, "it was promoted, or took up an older server's history, since it came up, and doesn't tell when")
	//guard:vouched-not-promoted  vouching for a process doesn't vouch for its promotion
	//guard:vouched-while-young  vouching for a run counts for its first quarantine only
	case id.Vouched && !id.Promoted && id.Uptime >= 0 && id.Uptime < q.length:
		// A server that has been up for longer may have been emptied since somebody
		// vouched for it, or the name may have led elsewhere.
	default:
		// The longer one, because a server that hides its run is never known.
		if t := q.firstSight(id, now); t.until > q.restart.until {
			q.restart = t
		}
	}
	return q.news(was, now)
}

// firstSight is the quarantine of a server that this client has never seen before.
//
// Invariant: the votes of a server count only when its name has led to its present run
// for a whole quarantine. What the server says of itself can't tell that: a spare server
// may have been up for days when the name is moved to it, while leases rest on votes of
// the server that the name led to before. Only clients can tell, by the mark that they
// leave on the server (Identity.Served). A promotion is a new run, so the mark tells when
// the name first led to that, too.
func (q *quarantine) firstSight(id wire.Identity, now drift.Instant) (t term) {
	switch {
	//guard:served-for-a-quarantine  a server votes only after clients have reached it under its name for the length of a quarantine
	case id.Served >= 0 && id.Served < q.length && (id.Uptime < 0 || id.Served < id.Uptime):
		since := "no client has used this name for this server before"
		if id.Served > 0 {
			since = fmt.Sprintf("this name has been used for this server for %v only", id.Served.Round(time.Millisecond))
		}
		t = q.from(now, "%s: it may have led to another server, whose votes still count, or this one was promoted or lost its data", since)
		t.until -= id.Served
	//guard:up-for-a-quarantine  a server votes only after it has been up for the length of a quarantine
	case id.Uptime >= 0 && id.Uptime < q.length:
		// Uptime is rounded down, so this counts from no earlier than the start.
		t = q.from(now, "it came up %v ago, and may lack votes that it gave before (persistence: %s)", id.Uptime, orUnknown(id.Persistence))
		t.until -= id.Uptime
	}
	return t
}

// answeredBy takes in that a master answered that isn't in the run that was asked for. It
// reports whether it has to be found out who it is.
//
// Invariant: whatever master answers under the instance's name, another client may have
// its vote. So the probe that follows decides (see identify): if it reaches another one
// than was seen here, there are two, and a quarantine begins.
func (q *quarantine) answeredBy(other *wire.RunError) (unknown bool) {
	switch {
	case !other.Master():
		return true // it granted nothing to anybody, but may be all that there is now
	case other.Found != "" && other.Found == q.id.Run():
		return false // a probe has found it since
	case q.sighted == "":
		q.sighted = orHidden(other.Found.ReplID())
	case q.sighted != other.Found.ReplID():
		q.sighted = "several" // which no probe finds
	}
	return true
}

// known is what a probe that is sent now says that the client knows.
//
// Invariant: it tells of the last server that had a vote here, until all that its votes
// were good for has ended: a lease ends by the larger of two clocks. How long ago that was
// is never taken for longer than it was.
func (q *quarantine) known(now drift.Instant) wire.Known {
	k := wire.Known{RunID: q.id.RunID, Run: q.id.Run()}
	if k == (wire.Known{}) {
		return k
	}
	k.Lately, k.Marked, k.Ago = drift.Elapsed(q.seen, now) < backlogLife, q.id.Epoch != "", math.MaxInt64
	//guard:evidence-ends  a client whose leases have ended leaves no mark anew
	if q.voter == "" || drift.Elapsed(q.voted, now) >= q.length {
		return k
	}
	// The server's clock and this one may run at different rates.
	ago := drift.AtLeast(q.voted, now)
	k.Voter, k.Ago = q.voter, max(0, ago-q.drift.Of(ago))
	return k
}

// confirmed takes in that a server did what it was asked for in a run. What was asked for
// in no run in particular shows nothing: any server does that.
func (q *quarantine) confirmed(run wire.Run, sent drift.Instant) {
	//guard:seen-in-a-run  only a command that named the run shows that the server is still in it
	if run == "" || run != q.id.Run() {
		return
	}
	q.seen = later(q.seen, sent)
}

// counted takes in that a vote counted that the server was asked for in its present run.
func (q *quarantine) counted(sent drift.Instant) {
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

func (q *quarantine) from(now drift.Instant, detail string, args ...any) term {
	//guard:quarantine-from-now  a quarantine begins when its reason is found, by the monotonic clock
	return term{until: now.Mono + q.length, detail: fmt.Sprintf(detail, args...)}
}

// news is the quarantine for a restart, unless it is known: the same start is seen once
// more with another rounding.
func (q *quarantine) news(was term, now drift.Instant) *QuarantineError {
	if q.restart.until > was.until+time.Second {
		return q.restart.err(Restarted, now)
	}
	return nil
}

// jumped takes in a step of the server's clock.
func (q *quarantine) jumped(jump drift.Jump, now drift.Instant) *QuarantineError {
	//guard:jump-quarantined  a server whose clock jumped is put into quarantine
	q.jump = term{until: now.Mono + q.length, detail: jump.String()}
	return q.jump.err(ClockJumped, now)
}

// trust vouches for the run that the last probe found, if it is the given one. It
// isn't remembered: a server that comes back after another one stood in its place
// lacks that one's votes.
func (q *quarantine) trust(id wire.Identity) {
	//guard:trust-one-run  Trust is for the run that it found
	if id.RunID == q.id.RunID && id.ReplID == q.id.ReplID && id.Epoch == q.id.Epoch {
		q.restart = term{}
	}
}

// check is nil if the instance may vote.
func (q *quarantine) check(now drift.Instant) *QuarantineError {
	// The longer reason is the one that counts.
	if q.jump.until > q.restart.until {
		return q.jump.err(ClockJumped, now)
	}
	//guard:restart-quarantine  a server that is in quarantine because of another run doesn't vote
	return q.restart.err(Restarted, now)
}

func (t term) err(reason QuarantineReason, now drift.Instant) *QuarantineError {
	//guard:quarantine-monotonic  a quarantine doesn't end early when a wall clock is set forward
	left := t.until - now.Mono
	if t.until == 0 || left <= 0 {
		return nil
	}
	return &QuarantineError{Reason: reason, Detail: t.detail, Remaining: left, Until: now.Wall.Add(left)}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func orHidden(id string) string {
	if id == "" {
		return "hidden"
	}
	return id
}
