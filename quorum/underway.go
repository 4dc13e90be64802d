package quorum

import (
	"slices"
	"sync"
)

// underWay has for each key the value whose deletion this Coordinator began last, while any request about
// that value has no answer. The values of rounds and leases aren't in it: goroutines that try at once must not wait for
// each other's rounds. The zero underWay is empty.
//
// An acquisition isn't sent to a server that has yet to answer an earlier request under the same key: it would meet
// the key that the earlier one sets and its delete has yet to remove. A caller that locks the same key again
// and again would send it for nothing, or with a delete of its own (see deletes.before), and a server that is
// slower than the quorum would get further behind with each turn. By its turn the acquisition is pointless there, as a
// rule, and isn't sent at all. Others aren't kept waiting: the earlier release was decided, so a quorum has answered.
type underWay struct {
	mu    sync.Mutex
	byKey map[string]*value
}

// before are the values under the keys that have requests without an answer.
func (u *underWay) before(keys []string) (found []*value) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		if v := u.byKey[key]; v != nil && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	return found
}

// add notes that a value is deleted. remove follows, when its last request has ended.
func (u *underWay) add(v *value) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byKey == nil {
		u.byKey = make(map[string]*value)
	}
	for _, key := range v.keys {
		u.byKey[key] = v
	}
}

// remove notes that all requests about the value have ended.
func (u *underWay) remove(v *value) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range v.keys {
		if u.byKey[key] == v {
			delete(u.byKey, key)
		}
	}
}
