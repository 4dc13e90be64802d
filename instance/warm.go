package instance

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum/wire"
)

// warm remembers locks by what the next request for them takes. A transaction, if the last one
// here was granted by a script or by the usual transaction, in the same run of the server and
// under the same set of instances: so the text beside the counter is the one that the next
// grant needs. Or a script, if the last one here was refused, failed, or made the counter. Of
// other locks this client knows nothing, and guesses (see starts).
//
// It is only a guess. A lock that is remembered wrongly costs an exchange, and takes a script
// the next time. So waiting for a lock costs at most one such transaction for each grant, and a
// client with another set of instances writes once to the locks of others. A lock that is
// forgotten, because others took its places, costs no more than one that is not known.
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

// byScript is the hash under which a lock is remembered that takes a script.
func byScript(hash uint64) uint64 { return ^hash }

// note remembers whether a lock will probably be granted by a transaction, or takes a script.
func (w *warm) note(hash uint64, usual bool) {
	other := byScript(hash)
	if !usual {
		hash, other = other, hash
	}
	w.forget(other)
	if w.has(hash) {
		return
	}
	places := w.of(hash)
	for i := range places {
		if places[i].CompareAndSwap(0, hash) {
			return
		}
	}
	places[hash>>32%uint64(len(places))].Store(hash)
}

func (w *warm) forget(hash uint64) {
	places := w.of(hash)
	for i := range places {
		places[i].CompareAndSwap(hash, 0)
	}
}
