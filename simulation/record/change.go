package record

import (
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Change is what an event did to locks and counters: a request of the library on a server, or a
// lease that was acquired. The text of the log leaves it out. Package machine compares it with
// the argument why tokens rise.
type Change struct {
	// Value is the round's. Quorum is how many instances the round needs (Acquired).
	Value  string
	Quorum int

	// The rest is about requests. Delete, Named (the run that is meant) and To (of Raise and
	// Restore) are the request's. Ahead is how far a counter may be ahead of its server's clock: half of MaxTTL.
	Delete []string
	Named  wire.Run
	To     fencing.Token
	Ahead  time.Duration

	// Run is the server's: its run ID and replication ID, even if it hides them. Mark is its mark, and
	// Marked the true time at which it was written. Clock is its clock in microseconds.
	Run    [2]string
	Mark   wire.Run
	Marked time.Duration
	Clock  int64
	Locks  []LockChange
}

// LockChange is one lock on a server, before and after a request.
type LockChange struct {
	Key           string
	Before, After LockState
}

// LockState is a lock's value, "" if the key is free, and its counter, 0 if there is none.
type LockState struct {
	Value   string
	Counter fencing.Token
}
