package live

import "github.com/redquorum/redlock/fencing"

// key is the lock's, in all plays.
const key = "k"

// What is written to a ledger.
const (
	wasAsked    = "asked"    // a client is about to ask for the lock
	wasAcquired = "acquired" // it has it
	wasDenied   = "denied"   // it hasn't
	wasValid    = "valid"    // it looked at its lease, and believes in it
	wasOver     = "over"     // it looked, and doesn't
	wasReleased = "released" // it is about to release
	wasRead     = "read"     // the resource answered a read
	wasWritten  = "written"  // the resource carried out a write
	wasStale    = "stale"    // the resource refused a read or a write
	wasKilled   = "killed"   // the process is no more
	wasStarved  = "starved"  // it had to get the lock by now, and hasn't
	wasBlocked  = "blocked"  // nobody will ever get it
)

// Words of entries about leases that are handed off.
const (
	handedOff = "handed off" // of a release that wasn't one
	resumed   = "resumed"    // of what was asked for, and had, by a handle
)

// Entry is one line of a ledger: what a client did, or what the resource did for it.
type Entry struct {
	// Seq counts the entries from 1. Of two things the one with the lower number
	// was over before the other's was written.
	Seq int `json:"seq"`
	// Began is how many entries there were when it began: what has a number up to
	// that was over before.
	Began int `json:"began"`
	// Who is the client, Lease the how manieth of its leases it is about, from 1.
	Who   string `json:"who"`
	Lease int    `json:"lease,omitempty"`
	What  string `json:"what"`
	Key   string `json:"key,omitempty"`
	// Token is the lease's. It is text on the wire: what Lua makes of a number has 14
	// digits, and tokens have more.
	Token fencing.Token `json:"token,omitempty,string"`
	// Value is what was read or written. Version counts the writes before: for a
	// write as its writer had read it, and Found what it really was.
	Value   int64  `json:"value"`
	Version uint64 `json:"version"`
	Found   uint64 `json:"found"`
	// Words says more.
	Words string `json:"words,omitempty"`
}
