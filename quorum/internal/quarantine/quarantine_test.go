package quarantine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// mark is a mark with that epoch, none if it is empty.
func mark(epoch string) wire.Run {
	if epoch == "" {
		return ""
	}
	return wire.MarkOf("id", epoch, "main@1 N=5 Q=3 MaxTTL=10m0s")
}

// Another replication ID is another run, whether a promotion or a first replica is the reason. The
// age of the mark counts for a process that names itself, as it does for a client that starts.
func TestAnotherReplicationID(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	const length = 10 * time.Minute
	for name, c := range map[string]struct {
		edit func(id *wire.Identity)
		left time.Duration
	}{
		"marked just now":        {func(id *wire.Identity) { id.Served = 0 }, length},
		"marked a while ago":     {func(id *wire.Identity) { id.Served = time.Minute }, length - time.Minute},
		"marked long ago":        {func(*wire.Identity) {}, 0},
		"no mark":                {func(id *wire.Identity) { id.Mark, id.Served = "", -1 }, length},
		"no mark can be kept":    {func(id *wire.Identity) { id.Mark, id.Served = "", 0 }, length},
		"it hides its ID now":    {func(id *wire.Identity) { id.ReplID, id.Mark, id.Served = "", "", -1 }, length},
		"it hides its run ID":    {func(id *wire.Identity) { id.RunID, id.Served = "", 0 }, length},
		"it was a replica since": {func(id *wire.Identity) { id.Role, id.Mark, id.Served = "slave", "", -1 }, length},
	} {
		for _, epoch := range []string{"7", ""} {
			q := New(length, drift.Allowance{})
			q.Identify(wire.Identity{RunID: "run", ReplID: "one", Mark: mark(epoch), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}, at)
			require.True(t, q.Check(at).MayVote())
			id := wire.Identity{RunID: "run", ReplID: "two", Mark: mark("8"), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
			c.edit(&id)
			q.Identify(id, at)
			require.Equal(t, c.left, q.Check(at).Remaining, "%s, from %q", name, epoch)
		}
	}
}

// What a client tells the server errs towards writing a new mark, until every vote that it knows of
// has expired.
func TestWhatAProbeTellsTheServer(t *testing.T) {
	at := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: mono, Wall: time.Unix(0, 0).Add(wall)}
	}
	id := wire.Identity{RunID: "run", ReplID: "one", Mark: mark("7"), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
	none := time.Duration(-1)
	for name, c := range map[string]struct {
		now drift.Instant
		ago time.Duration
	}{
		"at once":             {at(time.Second, time.Second), 0},
		"a while ago":         {at(11*time.Second, 11*time.Second), 10*time.Second - 100*time.Millisecond - 2*time.Millisecond},
		"long ago":            {at(201*time.Second, 201*time.Second), 198*time.Second - 2*time.Millisecond},
		"suspended":           {at(2*time.Second, 3*time.Minute), time.Second - 12*time.Millisecond},
		"suspended for long":  {at(2*time.Second, time.Hour), none},
		"the wall stepped":    {at(2*time.Second, -time.Hour), 0},
		"no lease any more":   {at(601*time.Second, 601*time.Second), none},
		"the monotonic clock": {at(5*time.Minute, 11*time.Second), 10*time.Second - 102*time.Millisecond},
	} {
		q := New(10*time.Minute, drift.Default())
		require.Equal(t, wire.Known{}, q.Known(at(0, 0)), "before the first probe")
		q.Identify(id, at(time.Second, time.Second))
		q.GrantAccepted(at(time.Second, time.Second), at(time.Second, time.Second))
		want := wire.Known{RunID: "run", Epoch: "7"}
		if c.ago != none {
			want.Voter, want.Ago = "run", c.ago
		}
		require.Equal(t, want, q.Known(c.now), name)
	}
}

// Trust is for the run that it found, and for the mark there: since then the server may have lost
// its data.
func TestTrustIsForTheMarkThatItFound(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	id := wire.Identity{RunID: "run", ReplID: "one", Mark: mark("7"), Role: wire.RoleMaster, Uptime: time.Hour}
	q := New(10*time.Minute, drift.Default())
	q.Identify(id, at)
	found := id
	id.Mark = mark("8")
	q.Identify(id, at)
	require.False(t, q.Trust(found))
	require.False(t, q.Check(at).MayVote())
	require.True(t, q.Trust(id))
	require.True(t, q.Check(at).MayVote())
}

// A server that hides its run ID may be another one, and one whose mark was left anew may have lost
// its data, though all else is the same.
func TestTheSameButForOneThing(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	for _, edit := range []func(id *wire.Identity){
		func(id *wire.Identity) { id.RunID = "" },
		func(id *wire.Identity) { id.Mark, id.Served = mark("8"), 0 },
	} {
		id := wire.Identity{RunID: "run", ReplID: "one", Mark: mark("7"), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
		q := New(10*time.Minute, drift.Default())
		q.Identify(id, at)
		require.True(t, q.Check(at).MayVote())
		edit(&id)
		q.Identify(id, at)
		require.False(t, q.Check(at).MayVote())
	}
}

// An operator vouches for a server that has just come up. Later it may have been emptied.
func TestVouchingEnds(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	for up, votes := range map[time.Duration]bool{time.Minute: true, 10 * time.Minute: false} {
		q := New(10*time.Minute, drift.Default())
		q.Identify(wire.Identity{RunID: "run", ReplID: "one", Mark: mark("7"), Role: wire.RoleMaster, Vouched: true, Uptime: up, Served: 0}, at)
		require.Equal(t, votes, q.Check(at).MayVote(), up)
	}
}

// A client that was cut off while a server restarted counts the age of the server's mark, as a client
// that starts does, if the mark was written meanwhile.
func TestClientThatWasCutOff(t *testing.T) {
	at := func(d time.Duration) drift.Instant {
		return drift.Instant{Mono: d, Wall: time.Unix(1_800_000_000, 0).Add(d)}
	}
	const length = 10 * time.Minute
	restarted := wire.Identity{RunID: "two", ReplID: "b", Mark: mark("8"), Role: wire.RoleMaster, Uptime: 20 * time.Minute, Served: 20 * time.Minute}
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
		"no mark":               {func(id *wire.Identity) { id.Served, id.Mark = -1, "" }, 20 * time.Minute, "b", length},
		"up for less":           {func(id *wire.Identity) { id.Uptime = time.Minute }, 20 * time.Minute, "b", length - time.Minute},
		"uptime is hidden":      {func(id *wire.Identity) { id.Uptime = -1 }, 20 * time.Minute, "b", 0},
		"it hides its run ID":   {func(id *wire.Identity) { id.RunID = "" }, 20 * time.Minute, "b", length},
		"a third one answered":  {nil, 20 * time.Minute, "c", length},
		"its clock was forward": {func(id *wire.Identity) { id.Uptime, id.Served = time.Hour, time.Hour }, time.Minute, "b", length},
	} {
		q := New(length, drift.Allowance{})
		q.Identify(wire.Identity{RunID: "one", ReplID: "a", Mark: mark("7"), Role: wire.RoleMaster, Uptime: 100 * time.Hour, Served: 100 * time.Hour}, at(time.Second))
		now := at(time.Second + c.unseen)
		if c.answered != "" {
			q.AnsweredBy(&wire.RunError{Found: wire.Run(c.answered), Role: wire.RoleMaster})
		}
		id := restarted
		if c.edit != nil {
			c.edit(&id)
		}
		q.Identify(id, now)
		require.Equal(t, c.left, q.Check(now).Remaining, name)
	}
}

// The floor of the tokens is as high as any that an earlier run can have given, unless the operator says that
// nothing was forgotten. It never is zero.
func TestFloor(t *testing.T) {
	const maxTTL, since = time.Minute, 1_800_000_000_000_000
	at := drift.Instant{Mono: time.Second, Wall: time.UnixMicro(since)}
	id := wire.Identity{RunID: "run", ReplID: "one", Mark: mark("1800000000000000"), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
	above := fencing.Token(since + maxTTL.Microseconds())
	q := New(10*time.Minute, drift.Allowance{})
	require.EqualValues(t, lostBelow, q.Floor(maxTTL), "before the first probe")
	q.Identify(id, at)
	require.Equal(t, above, q.Floor(maxTTL))
	require.True(t, q.Trust(id))
	require.EqualValues(t, since, q.Floor(maxTTL), "somebody vouches for it")
	id.Mark = wire.MarkOf("id", id.Epoch(), "main@2 N=5 Q=3 MaxTTL=10m0s")
	q.Identify(id, at)
	require.EqualValues(t, since, q.Floor(maxTTL), "another set is no other run")
	id.ReplID = "two"
	q.Identify(id, at)
	require.Equal(t, above, q.Floor(maxTTL), "nobody vouches for the next run")
	id.Mark = ""
	q.Identify(id, at)
	require.EqualValues(t, lostBelow, q.Floor(maxTTL), "it has no epoch")
	id.ReplID, id.Clock = "three", time.UnixMicro(since)
	q.Identify(id, at)
	require.Equal(t, above, q.Floor(maxTTL), "it has no epoch, but a clock")
	id.Clock = id.Clock.Add(time.Hour)
	q.Identify(id, at)
	require.Equal(t, above, q.Floor(maxTTL), "from when it was found")
	id.ReplID = ""
	q.Identify(id, at)
	require.EqualValues(t, lostBelow, q.Floor(maxTTL), "its run is hidden")
	id.ReplID, id.Mark = "four", mark("5")
	q.Identify(id, at)
	require.EqualValues(t, lostBelow, q.Floor(maxTTL), "its clock is decades behind")

	id = wire.Identity{RunID: "run", ReplID: "one", Mark: mark("1800000000000000"), Role: wire.RoleMaster, Vouched: true, Uptime: time.Second}
	q = New(10*time.Minute, drift.Allowance{})
	q.Identify(id, at)
	require.EqualValues(t, since, q.Floor(maxTTL), "the operator vouches for it")
	q.Identify(id, at)
	require.EqualValues(t, since, q.Floor(maxTTL))
}

// Another set in the mark, under the same epoch, is no other run.
func TestASetInTheMarkIsNoRun(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	id := wire.Identity{RunID: "run", ReplID: "id", Mark: mark("7"), Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
	q := New(10*time.Minute, drift.Allowance{})
	q.Identify(id, at)
	newer := id
	newer.Served = time.Minute // so that it would be a quarantine
	newer.Mark = wire.MarkOf("id", "7", "main@2 N=5 Q=3 MaxTTL=10m0s")
	require.True(t, q.AnsweredBy(&wire.RunError{Asked: id.Run(), Found: newer.Run(), Role: wire.RoleMaster}), "it is probed")
	require.True(t, q.Identify(newer, at).MayVote())
	require.True(t, q.Check(at).MayVote())
	require.Equal(t, newer.Run(), q.Run())
	require.False(t, q.AnsweredBy(&wire.RunError{Asked: id.Run(), Found: newer.Run(), Role: wire.RoleMaster}), "it is known")
}
