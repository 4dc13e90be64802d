package kernel

import (
	"cmp"
	"strings"
)

// op is a request of the code under test to the driver.
type op struct {
	order OpOrder
	do    func() // executes it, on the driver's goroutine
}

// OpOrder sorts the operations of one step. Goroutines post them in any order, and the result must not
// depend on that. Operations with the same order are indistinguishable.
type OpOrder struct {
	Process, Kind, Place, Op int
	N                        uint64
	Key, Value               string
}

// The kinds, in their order within a process.
const (
	IsRecord = iota
	IsGain
	IsCall
	IsCancel
	isTimer
	IsReport
	IsUnsubscribe
	IsSpawn
	IsTurn
	IsEnd
)

func (o OpOrder) compare(p OpOrder) int {
	return cmp.Or(o.Process-p.Process, o.Kind-p.Kind, o.Place-p.Place, o.Op-p.Op,
		cmp.Compare(o.N, p.N), strings.Compare(o.Key, p.Key), strings.Compare(o.Value, p.Value))
}
