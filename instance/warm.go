package instance

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum/wire"
)

// warm remembers the locks that the next request will probably be granted by a transaction:
// the last one here was granted, in the same run of the server and under the same set of
// instances, so the text beside the counter is the one that the next grant needs.
//
// It is only a guess. A lock that is forgotten, because others took its places, costs a
// script. A lock that is remembered wrongly costs a transaction that grants nothing. Then the
// lock is forgotten, so waiting for a lock costs at most one such transaction for each grant,
// and a client with another set of instances writes nothing to the locks of others.
type warm struct {
	seed   maphash.Seed
	places [1024][4]atomic.Uint64 // a lock may be in any of four
}

// hash is the hash of a request's lock, run and set. It is never 0.
func (w *warm) hash(req *wire.Request) uint64 {
	h := maphash.String(w.seed, req.Key) ^ 31*maphash.String(w.seed, string(req.Run))
	if req.Fence.On {
		h ^= 37 * maphash.Comparable(w.seed, req.Fence.Set)
	}
	return max(h, 1)
}

func (w *warm) of(hash uint64) *[4]atomic.Uint64 { return &w.places[hash%uint64(len(w.places))] }

func (w *warm) has(hash uint64) bool {
	places := w.of(hash)
	for i := range places {
		if places[i].Load() == hash {
			return true
		}
	}
	return false
}

// note remembers whether a lock was granted.
func (w *warm) note(hash uint64, granted bool) {
	places := w.of(hash)
	switch {
	case !granted:
		for i := range places {
			places[i].CompareAndSwap(hash, 0)
		}
	case !w.has(hash):
		for i := range places {
			if places[i].CompareAndSwap(0, hash) {
				return
			}
		}
		places[hash>>32%uint64(len(places))].Store(hash)
	}
}
