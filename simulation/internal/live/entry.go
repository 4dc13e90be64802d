package live

import "github.com/redquorum/redlock/fencing"

// key is the lock's key.
const key = "k"

// What is written to a ledger.
const (
	wasAsked    = "asked"    // a client is about to ask for the lock
	wasAcquired = "acquired" // it has the lock
	wasDenied   = "denied"   // it does not get the lock
	wasValid    = "valid"    // it has found its lease valid
	wasOver     = "over"     // it has found its lease expired
	wasReleased = "released" // it is about to release
	wasRead     = "read"     // the resource executed a read
	wasWritten  = "written"  // the resource executed a write
	wasStale    = "stale"    // the resource refused a read or a write
	wasKilled   = "killed"   // the process was killed
	wasStarved  = "starved"  // it did not get the lock in the required time
	wasBlocked  = "blocked"  // no client will ever get the lock
)

// entry is a line of a ledger: an action of a client, or of the resource for it.
type entry struct {
	// Seq counts the entries from 1. An action ended before any entry with a larger
	// number was written.
	Seq int `json:"seq"`
	// Began is the number of entries at its beginning. Actions up to that number had
	// ended before.
	Began int `json:"began"`
	// Who is the client. Lease counts its leases, from 1.
	Who   string `json:"who"`
	Lease int    `json:"lease,omitempty"`
	What  string `json:"what"`
	Key   string `json:"key,omitempty"`
	// Token is the lease's token, as text because Lua's JSON keeps only 14 digits of a
	// number.
	Token fencing.Token `json:"token,omitempty,string"`
	// Value is the value read or written. Version counts the earlier writes, for a write
	// as its writer read it. Found is the actual version.
	Value   int64  `json:"value"`
	Version uint64 `json:"version"`
	Found   uint64 `json:"found"`
	// Words has details.
	Words string `json:"words,omitempty"`
}
