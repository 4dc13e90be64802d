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
// It is only a guess. A lock that is forgotten, because another one took its slot, costs a
// script. A lock that is remembered wrongly costs a transaction that grants nothing. Then the
// lock is forgotten, so waiting for a lock costs at most one such transaction for each grant,
// and a client with another set of instances writes nothing to the locks of others.
type warm struct {
	seed  maphash.Seed
	slots [4096]atomic.Uint64
}

func (w *warm) hash(req *wire.Request) uint64 {
	h := maphash.String(w.seed, req.Key) ^ 31*maphash.String(w.seed, string(req.Run))
	if req.Fence.On {
		h ^= 37 * maphash.Comparable(w.seed, req.Fence.Set)
	}
	return max(h, 1)
}

func (w *warm) slot(hash uint64) *atomic.Uint64 { return &w.slots[hash%uint64(len(w.slots))] }

func (w *warm) has(req *wire.Request) bool {
	h := w.hash(req)
	return w.slot(h).Load() == h
}

// note remembers whether a lock was granted.
func (w *warm) note(req *wire.Request, granted bool) {
	h := w.hash(req)
	if granted {
		w.slot(h).Store(h)
	} else {
		w.slot(h).CompareAndSwap(h, 0)
	}
}
