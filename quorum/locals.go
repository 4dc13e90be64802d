package quorum

import "sync"

// locals is where goroutines of this process that want the same resource stand
// in line, first come first served. Only the first in a line competes on the
// instances; the others cost them nothing.
type locals struct {
	mu      sync.Mutex
	lines   map[string]*line
	sweepAt int // the number of lines at which expired leases are swept out
}

const sweepLeast = 1024

// line is the queue for one key. It exists while somebody stands in it or a
// lease of this process is held.
type line struct {
	waiting []*ticket
	holder  *Lease // a lease of this process, nil if there is none
}

// ticket is one goroutine's place.
type ticket struct {
	locals *locals
	key    string
	turn   chan struct{} // closed when it is first in line
	wake   chan struct{} // told when the resource may have become free
}

func newLocals() *locals { return &locals{lines: make(map[string]*line)} }

func (l *locals) enter(key string) *ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &ticket{locals: l, key: key, turn: make(chan struct{}), wake: make(chan struct{}, 1)}
	at := l.lineLocked(key)
	at.waiting = append(at.waiting, t)
	if at.waiting[0] == t {
		close(t.turn)
	}
	return t
}

// leave gives up the place, wherever in the line it is.
func (t *ticket) leave() {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	for i, other := range at.waiting {
		if other != t {
			continue
		}
		at.waiting = append(at.waiting[:i:i], at.waiting[i+1:]...)
		if i == 0 && len(at.waiting) > 0 {
			close(at.waiting[0].turn)
		}
		break
	}
	l.dropLocked(t.key, at)
}

// held notes that this process holds the lease, so that the first in line need
// not ask the instances who does.
func (l *locals) held(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lineLocked(lease.hold.key).holder = lease
	if len(l.lines) >= l.sweepAt {
		l.sweepLocked()
		l.sweepAt = max(sweepLeast, 2*len(l.lines))
	}
}

// sweepLocked forgets leases that ran out without a release, which nothing else
// would ever take off the list.
func (l *locals) sweepLocked() {
	for key, at := range l.lines {
		if at.holder != nil && len(at.waiting) == 0 && at.holder.expired() {
			delete(l.lines, key)
		}
	}
}

// freed notes that the lease is over and wakes the first in line.
func (l *locals) freed(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[lease.hold.key]
	if at == nil || at.holder != lease {
		return
	}
	at.holder = nil
	if len(at.waiting) > 0 {
		select {
		case at.waiting[0].wake <- struct{}{}:
		default: // it is told already
		}
	}
	l.dropLocked(lease.hold.key, at)
}

// holder is this process's lease on the key, nil if there is none.
func (l *locals) holder(key string) *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.lines[key]; at != nil {
		return at.holder
	}
	return nil
}

func (l *locals) lineLocked(key string) *line {
	at := l.lines[key]
	if at == nil {
		at = &line{}
		l.lines[key] = at
	}
	return at
}

func (l *locals) dropLocked(key string, at *line) {
	if len(at.waiting) == 0 && at.holder == nil {
		delete(l.lines, key)
	}
}
