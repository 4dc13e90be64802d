//go:build unix

package live

import (
	"time"

	"github.com/redquorum/redlock/fencing"
)

// request is one line from the play to a client process.
type request struct {
	ID  int    `json:"id"`
	Do  string `json:"do"`
	Key string `json:"key,omitempty"`
	// Patience bounds what is asked for: an acquisition that waits, an answer of the
	// resource.
	Patience time.Duration `json:"patience,omitempty"`
	// Pause makes an update stop after it has looked at its lease, until a
	// request "go" names it.
	Pause bool `json:"pause,omitempty"`
	Go    int  `json:"go,omitempty"`
	// Handle is a lease's, that another client has handed off. It arrives after Patience.
	Handle string `json:"handle,omitempty"`
	Setup  *setup `json:"setup,omitempty"`
	Soak   *load  `json:"soak,omitempty"`
}

// The things that a client can be asked to do.
const (
	doSetup   = "setup"   // make the locker
	doAcquire = "acquire" // wait for the lock, for as long as Patience
	doTry     = "try"     // ask for it once
	doLook    = "look"    // at the lease
	doUpdate  = "update"  // read, look at the lease, write
	doRead    = "read"
	doWrite   = "write" // after a read, without a look at the lease
	doExtend  = "extend"
	doRelease = "release"
	doVerify  = "verify" // what the library says of the servers
	doGo      = "go"     // end an update's pause
	doFreeze  = "freeze" // stop the world until the heap has been dumped
	doSettle  = "settle" // wait until nothing is under way any more
	doSoak    = "soak"   // lock, update, release, over and over
	doHandle  = "handle" // go on with a lease that was handed off, in a soak
	doClose   = "close"
)

// answer is one line back. An Event comes before the answer itself.
type answer struct {
	ID    int    `json:"id"`
	Event string `json:"event,omitempty"`
	OK    bool   `json:"ok"`
	// Why says what an answer that isn't OK comes from.
	Why      string        `json:"why,omitempty"`
	Token    fencing.Token `json:"token,omitempty"`
	Validity time.Duration `json:"validity,omitempty"`
	// Gap is the longest time for which nothing ran in the process, as far as a
	// goroutine noticed that only looks at the clock.
	Gap time.Duration `json:"gap,omitempty"`
	// Cycle is one turn of a soak.
	Cycle *cycle `json:"cycle,omitempty"`
}

// The events.
const (
	// eventChecked: the lease was valid, and the write comes next.
	eventChecked = "checked"
	// eventTurn: something of a soak's turn is done.
	eventTurn = "turn"
)

// setup is what a client process needs to begin.
type setup struct {
	Who      string        `json:"who"`
	Index    int           `json:"index"`
	Scenario string        `json:"scenario,omitempty"`
	Design   string        `json:"design"`
	TTL      time.Duration `json:"ttl"`
	MaxTTL   time.Duration `json:"max_ttl,omitempty"` // 0: TTL
	Timeout  time.Duration `json:"timeout"`
	Places   []place       `json:"places"`
	Resource door          `json:"resource"`
}

// place is one server, as one client reaches it.
type place struct {
	Name     string `json:"name"`
	Addr     string `json:"addr"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	DB       int    `json:"db,omitempty"`
	// Lifetime is for how long connections go on to a server when the address has moved, 0
	// if it doesn't move.
	Lifetime time.Duration `json:"lifetime,omitempty"`
	// Vouched is the run id that its starter vouches for.
	Vouched string `json:"vouched,omitempty"`
	// Replicas is how many must have a grant before it counts.
	Replicas int `json:"replicas,omitempty"`
}

// door is where the resource is, and what stands before it.
type door struct {
	// Addr is where it is read and written, Notes where its ledger is: a fault of
	// the network may lie on the one way only.
	Addr  string `json:"addr"`
	Notes string `json:"notes"`
	// Row says that it is a row in the Redis at Addr, not a resource process.
	Row bool `json:"row,omitempty"`
	// Guard is the simulation's word for what stands before it.
	Guard string `json:"guard,omitempty"`
}
