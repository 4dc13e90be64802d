package memory

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Run is one run of a server: its names, and the mark that clients left in it.
type Run struct {
	RunID, ReplID string
	Promoted      bool
	Started       time.Time // by the server's wall clock
	Mark          Mark
}

// NewRun begins a run with names that no other one has, and with a mark, as if clients had used the
// server's name from then on.
func NewRun(now time.Time) Run {
	r := Run{RunID: NewID(), ReplID: NewID(), Started: now}
	r.Mark = NewMark(wire.Identity{RunID: r.RunID, ReplID: r.ReplID}, now)
	return r
}

// NewID draws a run ID or a replication ID.
func NewID() string {
	var id [20]byte
	rand.Read(id[:]) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(id[:])
}

// Identity is what a server in this run says about itself at the time now of its wall clock. Served
// is what a Probe finds, see Mark.Probe.
func (r *Run) Identity(now time.Time) wire.Identity {
	id := wire.Identity{
		RunID:       r.RunID,
		ReplID:      r.ReplID,
		Promoted:    r.Promoted,
		Uptime:      max(0, now.Sub(r.Started).Truncate(time.Second)),
		Role:        wire.RoleMaster,
		Persistence: "none",
		Eviction:    "noeviction",
		Server:      "memory",
		Clock:       time.UnixMicro(now.UnixMicro()),
	}
	id.Epoch = r.Mark.Epoch(id)
	return id
}
