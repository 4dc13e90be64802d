package quarantine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Another run ID, replication ID or mark is another run, whether a promotion or a first replica is the reason.
// Its quarantine begins when the client finds it, however old the mark is: the client may have been away.
func TestAnotherRun(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	const length = 10 * time.Minute
	for name, edit := range map[string]func(id *wire.Identity){
		"restarted":              func(id *wire.Identity) { id.RunID = "two" },
		"restarted just now":     func(id *wire.Identity) { id.RunID, id.Uptime, id.Served = "two", 0, 0 },
		"marked just now":        func(id *wire.Identity) { id.Served = 0 },
		"marked long ago":        func(*wire.Identity) {},
		"no mark":                func(id *wire.Identity) { id.Epoch, id.Served = "", -1 },
		"no mark can be kept":    func(id *wire.Identity) { id.Epoch, id.Served = "", 0 },
		"it hides its ID now":    func(id *wire.Identity) { id.ReplID, id.Epoch, id.Served = "", "", -1 },
		"it hides its run ID":    func(id *wire.Identity) { id.RunID, id.Served = "", 0 },
		"only its run ID":        func(id *wire.Identity) { id.RunID, id.ReplID, id.Epoch = "", "one", "7" },
		"only its mark":          func(id *wire.Identity) { id.ReplID = "one" },
		"it was a replica since": func(id *wire.Identity) { id.Role, id.Epoch, id.Served = "slave", "", -1 },
	} {
		for _, epoch := range []string{"7", ""} {
			if epoch == "" && name == "only its mark" {
				continue // it is looked at as at a start
			}
			q := New(length, drift.Allowance{})
			q.Identify(wire.Identity{RunID: "run", ReplID: "one", Epoch: epoch, Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}, at)
			require.True(t, q.Check(at).MayVote())
			id := wire.Identity{RunID: "run", ReplID: "two", Epoch: "8", Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
			edit(&id)
			q.Identify(id, at)
			require.Equal(t, length, q.Check(at).Remaining, "%s, from %q", name, epoch)
		}
	}
}

// What a client tells the server errs towards writing a new mark, until every vote that it knows of
// has expired.
func TestWhatAProbeTellsTheServer(t *testing.T) {
	at := func(mono, wall time.Duration) drift.Instant {
		return drift.Instant{Mono: mono, Wall: time.Unix(0, 0).Add(wall)}
	}
	id := wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Uptime: time.Hour, Served: time.Hour}
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
		q.GrantAccepted(at(time.Second, time.Second))
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
	id := wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Uptime: time.Hour}
	q := New(10*time.Minute, drift.Default())
	q.Identify(id, at)
	found := id
	id.Epoch = "8"
	q.Identify(id, at)
	require.False(t, q.Trust(found))
	require.False(t, q.Check(at).MayVote())
	require.True(t, q.Trust(id))
	require.True(t, q.Check(at).MayVote())
}

// An operator vouches for a server that has just come up. Later it may have been emptied.
func TestVouchingEnds(t *testing.T) {
	at := drift.Instant{Mono: time.Second, Wall: time.Unix(1_800_000_000, 0)}
	for up, votes := range map[time.Duration]bool{time.Minute: true, 10 * time.Minute: false} {
		q := New(10*time.Minute, drift.Default())
		q.Identify(wire.Identity{RunID: "run", ReplID: "one", Epoch: "7", Role: wire.RoleMaster, Vouched: true, Uptime: up, Served: 0}, at)
		require.Equal(t, votes, q.Check(at).MayVote(), up)
	}
}
