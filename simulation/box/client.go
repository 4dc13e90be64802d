//go:build unix

package box

import (
	"github.com/redquorum/redlock/simulation/record"
)

// client is a client of a play.
type client struct {
	name   string
	driver *clientProcess
	links  []*link // by a server's number
	paused bool
	dead   bool
	begun  uint64 // the number of the event that asked for an answer that is missing, 0 for none

	lease    int    // its number in the record
	leases   int    // how many it has had
	got      uint64 // the number of the event of the grant
	holds    bool
	left     bool // its lease was over, or not extended, and not given back: its keys may be there
	token    uint64
	read     bool // it has read the resource under this lease
	seen     content
	sent     *record.Event // a write that is on its way
	stopped  bool          // it was paused since its last check, so that it may write without another one
	told     int64         // losses that were told before this lease
	overtook bool          // another client has asked for the lock and got it meanwhile
}
