package quorum

import (
	"slices"
	"sync"
)

// values is what all values of a Coordinator share. It has for each key the value whose deletion this Coordinator began
// last, while any request about that value has no answer. The values of rounds and leases aren't among them: goroutines
// that try at once must not wait for each other's rounds.
//
// An acquisition isn't sent to a server that has yet to answer an earlier request under the same key: it would meet
// the key that the earlier one sets and its delete has yet to remove. A caller that locks the same key again
// and again would send it for nothing, or with a delete of its own (see deletes.before), and a server that is
// slower than the quorum would get further behind with each turn. By its turn the acquisition is pointless there, as a
// rule, and isn't sent at all. Others aren't kept waiting: the earlier release was decided, so a quorum has answered.
type values struct {
	*env
	servers servers

	mu    sync.Mutex
	byKey map[string]*value
}

// beingDeleted are the values under the keys that are being deleted, and have requests without an answer.
func (vs *values) beingDeleted(keys []string) (found []*value) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, key := range keys {
		if v := vs.byKey[key]; v != nil && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	return found
}

// deletionBegins notes that a value is being deleted. requestsEnd follows.
func (vs *values) deletionBegins(v *value) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.byKey == nil {
		vs.byKey = make(map[string]*value)
	}
	for _, key := range v.keys {
		vs.byKey[key] = v
	}
}

// requestsEnd notes that all requests about a value have ended.
func (vs *values) requestsEnd(v *value) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, key := range v.keys {
		if vs.byKey[key] == v {
			delete(vs.byKey, key)
		}
	}
}
