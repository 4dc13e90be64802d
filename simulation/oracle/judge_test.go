package oracle

import (
	"maps"
	"slices"

	"github.com/redquorum/redlock/simulation/record"
)

// Broken is a promise that was broken on a key.
type Broken struct {
	Key  string
	Kind record.ViolationKind
}

// Judge returns the promises that porcupine finds broken, sorted by key. requests says whether the sender of a
// request to the resource acts as the holder, as in a simulated run.
func Judge(log record.Log, requests bool) (all []Broken) {
	keys := histories(log, requests)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for _, p := range promises() {
			if !p.kept(keys[key]) {
				all = append(all, Broken{key, p.kind})
			}
		}
	}
	return all
}
