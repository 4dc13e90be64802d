package quorum

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redquorum/redlock/quorum/wire"
)

// leftovers are the values that this Coordinator is deleting from one instance: the delete waits for the
// answer to an earlier request, is under way, or is pending. Each later acquisition under one of their keys
// deletes them first, in the same step (wire.Request.Delete). Otherwise a client on a slow network would be
// refused by its own earlier SETs: each of its deletes would come after its next SET.
//
// A value enters when its deletion begins, and leaves when it certainly isn't there any more, or the delete
// is given up. A value that was handed off or left (Lease.HandOff, Lease.Leave) never enters, because
// another process may have the lease.
//
// The value of a lease enters when its release is decided, and not before. Until then the release must
// find the keys itself, because the holder learns from it whether it held the lock.
type leftovers struct {
	n atomic.Int64 // entries, readable without the lock

	mu    sync.Mutex
	byKey map[string][]string // the values, the latest last
}

// mostDeleted bounds the values that one acquisition deletes.
const mostDeleted = 8

func (l *leftovers) add(v *valueState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[string][]string)
	}
	for key := range v.each() {
		l.byKey[key] = append(l.byKey[key], v.value)
	}
	l.n.Add(1)
}

func (l *leftovers) remove(v *valueState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range v.each() {
		//guard:deleted-is-forgotten  a value whose deletion is over isn't deleted by later acquisitions
		left := slices.DeleteFunc(l.byKey[key], func(value string) bool { return value == v.value })
		if l.byKey[key] = left; len(left) == 0 {
			delete(l.byKey, key)
		}
	}
	l.n.Add(-1)
}

// under is the values that an acquisition deletes first: those of the request, and the latest under its
// keys, but not its own.
func (l *leftovers) under(cmd *wire.Request) []string {
	if l.n.Load() == 0 {
		return cmd.Delete
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for key := range (keys{cmd.Key, cmd.Also}).each() {
		for _, value := range l.byKey[key] {
			// A round may be lost before its own request is sent.
			if value != cmd.Value && !slices.Contains(cmd.Delete, value) && !slices.Contains(found, value) {
				found = append(found, value)
			}
		}
	}
	//guard:few-are-deleted  an acquisition deletes few values, however many deletes are pending
	found = found[max(0, len(found)-mostDeleted):]
	return slices.Concat(cmd.Delete, found)
}

// deletionBegins has later acquisitions delete the value from instance i, until its deletion there is over.
func (v *valueState) deletionBegins(i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &v.slots[i]
	// A request that hasn't ended may set it, or be the delete.
	if s.leftover || s.deleted || s.unfinished == 0 && s.presence.Absent() {
		return
	}
	s.leftover = true
	v.c.members[i].leftovers.add(v)
}

// deletionEnds notes that the deletion from instance i is over: the value isn't there any more, or the
// delete was given up.
func (v *valueState) deletionEnds(i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &v.slots[i]
	if s.deleted = true; s.leftover {
		s.leftover = false
		v.c.members[i].leftovers.remove(v)
	}
}
