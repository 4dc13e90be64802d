package quarantine

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// The client's machine was suspended, so its monotonic clock stood still. Meanwhile the server was
// demoted and promoted, and dropped the history that shows it. So the time since the client last
// saw the server also counts by the wall clock.
func TestASuspendedClientDoesNotMissAPromotion(t *testing.T) {
	at := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: mono, Wall: time.Unix(1_800_000_000, 0).Add(wall)}
	}
	id := func(repl string) wire.Identity {
		return wire.Identity{RunID: "run", ReplID: repl, Role: wire.RoleMaster, Uptime: 100 * time.Hour, Served: 100 * time.Hour}
	}
	for name, c := range map[string]struct {
		sent, asked, answered drift.Instant
		trusted               bool
	}{
		"awake":          {at(1*time.Second, 1*time.Second), at(9*time.Second, 9*time.Second), at(9*time.Second, 9*time.Second), true},
		"suspended":      {at(1*time.Second, 1*time.Second), at(2*time.Second, 5*time.Minute), at(2*time.Second, 5*time.Minute), false},
		"asked long ago": {at(1*time.Second, 1*time.Second), at(71*time.Second, 71*time.Second), at(71*time.Second, 71*time.Second), false},
		"answered late":  {at(1*time.Second, 1*time.Second), at(2*time.Second, 2*time.Second), at(71*time.Second, 71*time.Second), false},
	} {
		q := State{length: 10 * time.Minute}
		q.Identify(id("one"), at(0, 0), at(0, 0))
		q.Confirmed("one", c.sent)
		q.Confirmed("one", at(0, 0)) // sent before, answered later
		q.Identify(id("two"), c.asked, c.answered)
		if c.trusted {
			require.True(t, q.Check(c.answered).MayVote(), name)
		} else {
			require.False(t, q.Check(c.answered).MayVote(), name)
		}
	}
}

// A request without a run doesn't show that the server is still in its run, because any server
// carries it out.
func TestACommandInNoRunConfirmsNone(t *testing.T) {
	at := func(d time.Duration) drift.Instant {
		return drift.Instant{Mono: d, Wall: time.Unix(1_800_000_000, 0).Add(d)}
	}
	id := wire.Identity{RunID: "run", ReplID: "one", Role: wire.RoleMaster, Uptime: 100 * time.Hour, Served: 100 * time.Hour}
	q := State{length: 10 * time.Minute}
	q.Identify(id, at(0), at(0))
	q.Confirmed("", at(time.Minute))
	id.ReplID = "two"
	q.Identify(id, at(71*time.Second), at(71*time.Second))
	require.False(t, q.Check(at(71*time.Second)).MayVote())
}

// A server that was last seen as a replica and is a master now has been promoted, however little
// time has passed.
func TestAReplicaThatIsAMasterNowWasPromoted(t *testing.T) {
	at := func(d time.Duration) drift.Instant {
		return drift.Instant{Mono: d, Wall: time.Unix(1_800_000_000, 0).Add(d)}
	}
	for role, trusted := range map[string]bool{wire.RoleMaster: true, "slave": false} {
		id := wire.Identity{RunID: "run", ReplID: "one", Role: role, Uptime: 100 * time.Hour, Served: 100 * time.Hour}
		q := State{length: 10 * time.Minute}
		q.Identify(id, at(0), at(0))
		id.ReplID, id.Role = "two", wire.RoleMaster
		q.Identify(id, at(time.Second), at(time.Second))
		if trusted {
			require.True(t, q.Check(at(time.Second)).MayVote(), role)
		} else {
			require.False(t, q.Check(at(time.Second)).MayVote(), role)
		}
	}
}

// What a client reports to the server as known errs towards writing a new mark, until every vote
// that it knows of has expired.
func TestWhatAProbeTellsTheServer(t *testing.T) {
	at := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: mono, Wall: time.Unix(0, 0).Add(wall)}
	}
	id := wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
	known := wire.Known{RunID: "run", Run: "one@7", Marked: true}
	for name, c := range map[string]struct {
		now    drift.Instant
		lately bool
		ago    time.Duration
	}{
		"at once":             {at(time.Second, time.Second), true, 0},
		"a while ago":         {at(11*time.Second, 11*time.Second), true, 10*time.Second - 100*time.Millisecond - 2*time.Millisecond},
		"long ago":            {at(201*time.Second, 201*time.Second), false, 198*time.Second - 2*time.Millisecond},
		"suspended":           {at(2*time.Second, 3*time.Minute), false, time.Second - 12*time.Millisecond},
		"suspended for long":  {at(2*time.Second, time.Hour), false, math.MaxInt64},
		"the wall stepped":    {at(2*time.Second, -time.Hour), true, 0},
		"no lease any more":   {at(601*time.Second, 601*time.Second), false, math.MaxInt64},
		"the monotonic clock": {at(5*time.Minute, 11*time.Second), false, 10*time.Second - 102*time.Millisecond},
	} {
		q := New(10*time.Minute, drift.Default())
		require.Equal(t, wire.Known{}, q.Known(at(0, 0)), "before the first probe")
		q.Identify(id, at(time.Second, time.Second), at(time.Second, time.Second))
		q.Counted(at(time.Second, time.Second))
		want := known
		want.Lately, want.Ago = c.lately, c.ago
		if c.ago < math.MaxInt64 {
			want.Voter = "run"
		}
		require.Equal(t, want, q.Known(c.now), name)
	}
}

// Trust is for the run that it found, and for the mark there: since then the server may have lost
// its data.
func TestTrustIsForTheMarkThatItFound(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	id := wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Uptime: time.Hour}
	q := New(10*time.Minute, drift.Default())
	q.Identify(id, at, at)
	found := id
	id.Epoch = "8"
	q.Identify(id, at, at)
	require.False(t, q.Trust(found))
	require.False(t, q.Check(at).MayVote())
	require.True(t, q.Trust(id))
	require.True(t, q.Check(at).MayVote())
}

// A server that hides its run ID may be another one, though all else is the same.
func TestHiddenRunIDIsAnother(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	id := wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
	q := New(10*time.Minute, drift.Default())
	q.Identify(id, at, at)
	require.True(t, q.Check(at).MayVote())
	id.RunID = ""
	q.Identify(id, at, at)
	require.False(t, q.Check(at).MayVote())
}

// A client that was cut off while a server restarted counts the age of the server's mark, as a client
// that starts does, if the mark was written meanwhile.
func TestClientThatWasCutOff(t *testing.T) {
	at := func(d time.Duration) drift.Instant {
		return drift.Instant{Mono: d, Wall: time.Unix(1_800_000_000, 0).Add(d)}
	}
	const length = 10 * time.Minute
	restarted := wire.Identity{RunID: "two", ReplID: "b", Epoch: "8", Role: wire.RoleMaster, Uptime: 20 * time.Minute, Served: 20 * time.Minute}
	for name, c := range map[string]struct {
		edit     func(id *wire.Identity)
		unseen   time.Duration
		answered string // the replication ID that answered first
		left     time.Duration
	}{
		"for long":              {nil, 20 * time.Minute, "b", 0},
		"not at all":            {nil, 0, "b", length},
		"marked before":         {nil, 19 * time.Minute, "b", length},
		"found by a probe":      {nil, 20 * time.Minute, "", 0},
		"others came later":     {func(id *wire.Identity) { id.Served = 3 * time.Minute }, 20 * time.Minute, "b", length - 3*time.Minute},
		"first of all":          {func(id *wire.Identity) { id.Served = 0 }, 20 * time.Minute, "b", length},
		"no mark":               {func(id *wire.Identity) { id.Served, id.Epoch = -1, "" }, 20 * time.Minute, "b", length},
		"up for less":           {func(id *wire.Identity) { id.Uptime = time.Minute }, 20 * time.Minute, "b", length - time.Minute},
		"uptime is hidden":      {func(id *wire.Identity) { id.Uptime = -1 }, 20 * time.Minute, "b", 0},
		"it hides its run ID":   {func(id *wire.Identity) { id.RunID = "" }, 20 * time.Minute, "b", length},
		"a third one answered":  {nil, 20 * time.Minute, "c", length},
		"its clock was forward": {func(id *wire.Identity) { id.Uptime, id.Served = time.Hour, time.Hour }, time.Minute, "b", length},
	} {
		q := New(length, drift.Allowance{})
		q.Identify(wire.Identity{RunID: "one", ReplID: "a", Epoch: "7", Role: wire.RoleMaster, Uptime: 100 * time.Hour, Served: 100 * time.Hour}, at(time.Second), at(time.Second))
		now := at(time.Second + c.unseen)
		if c.answered != "" {
			q.AnsweredBy(&wire.RunError{Found: wire.Run(c.answered), Role: wire.RoleMaster})
		}
		id := restarted
		if c.edit != nil {
			c.edit(&id)
		}
		q.Identify(id, now, now)
		require.Equal(t, c.left, q.Check(now).Remaining, name)
	}
}
