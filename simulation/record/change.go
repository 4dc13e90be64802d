package record

import "github.com/redquorum/redlock/fencing"

// Change is what a request of the library left of its locks on a server, or whose lease was acquired. The text of
// the log leaves it out.
type Change struct {
	// Value is the round's.
	Value string
	Locks []LockState // on the server, if it is about a request
}

// LockState is a lock on a server: its value, "" if the key is free, and its counter, 0 if there is none.
type LockState struct {
	Key, Value string
	Counter    fencing.Token
}
