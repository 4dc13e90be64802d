//go:build unix

package live

import "time"

// request is one line from the run to a client process.
type request struct {
	ID  int    `json:"id"`
	Do  string `json:"do"`
	Key string `json:"key,omitempty"`
	// Patience bounds the wait for the lock or for an answer of the resource.
	Patience time.Duration `json:"patience,omitempty"`
	// Pause stops an update after the check of the lease, until a request "go" names it.
	Pause bool   `json:"pause,omitempty"`
	Go    int    `json:"go,omitempty"`
	Setup *setup `json:"setup,omitempty"`
}

// The commands for a client.
const (
	doSetup   = "setup"   // make the locker
	doAcquire = "acquire" // wait for the lock, for as long as Patience
	doTry     = "try"     // ask for it once
	doCheck   = "check"   // the lease
	doUpdate  = "update"  // read, check the lease, write
	doRead    = "read"
	doWrite   = "write" // after a read, without a check of the lease
	doExtend  = "extend"
	doRelease = "release"
	doVerify  = "verify" // Coordinator.Verify
	doGo      = "go"     // end an update's pause
	doFreeze  = "freeze" // stop the world until the heap has been dumped
	doSettle  = "settle" // wait until no requests are pending
	doClose   = "close"
)

// answer is one line back. An Event comes before the answer itself.
type answer struct {
	ID    int    `json:"id"`
	Event string `json:"event,omitempty"`
	OK    bool   `json:"ok"`
	// Why is the reason if OK is false.
	Why      string        `json:"why,omitempty"`
	Validity time.Duration `json:"validity,omitempty"`
	// Gap is the longest time in which nothing ran in the process, as measured by a
	// goroutine that polls the clock.
	Gap time.Duration `json:"gap,omitempty"`
}

// eventChecked: the lease was valid, and the write comes next.
const eventChecked = "checked"

// setup configures a client process.
type setup struct {
	Who      string         `json:"who"`
	Index    int            `json:"index"`
	Scenario string         `json:"scenario,omitempty"`
	Design   string         `json:"design"`
	TTL      time.Duration  `json:"ttl"`
	Timeout  time.Duration  `json:"timeout"`
	Targets  []target       `json:"targets"`
	Resource resourceConfig `json:"resource"`
}

// target is a server as one client reaches it.
type target struct {
	Name     string `json:"name"`
	Addr     string `json:"addr"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	DB       int    `json:"db,omitempty"`
	// Vouched is the run ID for which the starter vouches.
	Vouched string `json:"vouched,omitempty"`
	// Replicas is the number of replicas that must have a grant before it counts.
	Replicas int `json:"replicas,omitempty"`
}

// resourceConfig locates the resource and names its guard.
type resourceConfig struct {
	// Addr is for reads and writes, and Notes for the ledger, because a network fault may
	// affect only one of them.
	Addr  string `json:"addr"`
	Notes string `json:"notes"`
	// Row: it is a row in the Redis at Addr, not a resource process.
	Row bool `json:"row,omitempty"`
	// Guard is the kind of guard, as in the simulation.
	Guard string `json:"guard,omitempty"`
}
