package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/byname"
)

// All returns every scenario, in the order of the IDs.
func All() []Scenario {
	all := slices.Concat(
		clientFaults(), clockFaults(), serverFaults(), replicaFaults(), messageFaults(), majorityFaults(), oneServerFaults(), tokenFaults(),
	)
	slices.SortFunc(all, func(a, b Scenario) int {
		return cmp.Or(cmp.Compare(a.ID[0], b.ID[0]), cmp.Compare(number(a.ID), number(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// number is an ID's.
func number(id string) (n int) {
	_, _ = fmt.Sscanf(id[1:], "%d", &n) // every ID has one
	return n
}

// ByID returns the scenario with the ID, in any case. The error Is byname.ErrUnknown and lists
// the IDs.
func ByID(id string) (Scenario, error) {
	return byname.Find("scenario", id, All(), func(s Scenario) string { return s.ID })
}
