package play

import (
	"strings"

	"github.com/redquorum/redlock/simulation/fault"
)

// FaultKind describes a kind of fault to people who put one into a schedule.
type FaultKind struct {
	Kind  fault.Kind  `json:"kind"`
	Title string      `json:"title"`
	Where fault.Where `json:"where"`
	// Uses and Example are as in fault.Traits.
	Uses    []string    `json:"uses"`
	Example fault.Fault `json:"example"`
}

// FaultKinds returns all kinds of faults.
func FaultKinds() []FaultKind {
	var list []FaultKind
	for _, t := range fault.All() {
		t.Example.Kind = t.Kind
		list = append(list, FaultKind{Kind: t.Kind, Title: t.Title, Where: t.Where, Uses: append([]string{}, strings.Fields(t.Uses)...), Example: t.Example})
	}
	return list
}
