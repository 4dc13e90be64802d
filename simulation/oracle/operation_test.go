package oracle

import "github.com/redquorum/redlock/fencing"

// what is done in an operation.
type what uint8

const (
	granted what = iota
	held
	read
	write
)

// operation is an operation under a lease. Porcupine gets it as an input; nothing is left for an output.
type operation struct {
	what  what
	lease int // its number in the record
	token fencing.Token
	place int // the lease's among those of its key, from 1, in the order of the answers
	acts  int // how often the lease is held (granted)
	// version is the resource's afterwards (read, write), and asOf the one that the writer had read.
	version, asOf uint64
}

// after reports whether the lease of o is later than that of p.
func (o operation) after(p operation) bool {
	if o.token != 0 && p.token != 0 {
		return o.token > p.token
	}
	return o.place > p.place
}
