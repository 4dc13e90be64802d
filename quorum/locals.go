package quorum

import (
	"sync"
	"time"

	"github.com/redquorum/redlock/drift"
)

// locals is where goroutines of this process that want the same resource stand
// in line, first come first served. Only the first in a line competes on the
// instances; the others cost them nothing.
type locals struct {
	reader *drift.Reader

	mu      sync.Mutex
	lines   map[string]*line
	sweepAt int // the number of lines at which what is over is swept out
}

const (
	sweepLeast = 1024

	// maxTurns bounds how often in a row the lock passes from one to the next in
	// this process before other processes are let in.
	maxTurns = 128

	// yieldFor is how long this process steps back for another one that was called:
	// far longer than a call takes, and no time for one that was called and died.
	yieldFor = 20 * time.Millisecond

	// contestedFor is how long a key counts as contested after another process was
	// seen to want it, too.
	contestedFor = time.Second
)

// line is the queue for one key. It exists while somebody stands in it, a lease
// of this process is held, or another process may wait for it.
type line struct {
	waiting []*ticket
	room    [1]*ticket // where one waits alone
	holder  *Lease     // a lease of this process, nil if there is none

	// turns is how many of this line, with who has the lock, may have it before other
	// processes are let in. It is set when the lock comes to this process, to as many as
	// stand in line then: everybody who waited, here and elsewhere, has one turn before
	// anybody has two. Where the lock is held for moments it is two for each: to pass it
	// to another process costs as much as some turns, and the others wait for less than a
	// tenth of a validity. And where nobody is known to wait elsewhere it is maxTurns then:
	// a newcomer waits for as long, once.
	turns int

	// By the monotonic clock, 0 for not at all: until when another process is to be
	// let in first, and until when one may wait.
	yield, contested time.Duration

	place place    // this process's in the line of all
	ear   *hearing // by which the first in line is to be called; nil if it doesn't listen

	freed, called bool // what the first in line has yet to hear of

	brief bool // the last lease here was held so shortly that it could be passed on
}

// place is this process's place in the line that a server keeps.
type place struct {
	ear     *hearing
	address string // empty for no place
	called  bool   // by a call, with which the place was lost
}

// ticket is one goroutine's place in the line of this process.
type ticket struct {
	locals *locals
	key    string
	turn   chan struct{} // closed when it is first in line; nil if it was from the start
	wake   chan struct{} // told when there is news; nil until somebody waits for it
	told   bool          // there was news before
	parked bool          // waits for a lease of this process, and can follow it
	gift   *succession
}

// news is what the first in line is woken by.
type news struct {
	// gift is a lease that is given back, to be followed.
	gift *succession
	// freed: a lease of this process is over. called: a release called us.
	freed, called bool
}

func newLocals(reader *drift.Reader) *locals {
	return &locals{reader: reader, lines: make(map[string]*line)}
}

// enter puts a new ticket in the line for the key.
func (l *locals) enter(t *ticket, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.locals, t.key = l, key
	at := l.lineLocked(key)
	if len(at.waiting) > 0 {
		t.turn = make(chan struct{})
	}
	at.waiting = append(at.waiting, t)
}

// heard is told when there is news.
func (t *ticket) heard() <-chan struct{} {
	t.locals.mu.Lock()
	defer t.locals.mu.Unlock()
	if t.wake == nil {
		t.wake = make(chan struct{}, 1)
		if t.told {
			t.wake <- struct{}{}
		}
	}
	return t.wake
}

// leave gives up the place, wherever in the line it is. If nobody is left to make
// use of this process's place in the line of all, or the lock came without it, it
// is returned to be given up.
func (t *ticket) leave(won bool) place {
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
			// What the one before hasn't heard of is for the next one to hear.
			if !won && (at.freed || at.called) {
				at.tellLocked()
			}
			close(at.waiting[0].turn)
		}
		break
	}
	var left place
	if won || len(at.waiting) == 0 {
		left, at.place, at.called = at.place, place{}, false
		if won && left.called {
			left = place{} // the call was for this
		}
	}
	l.dropLocked(t.key, at)
	return left
}

// held notes that this process holds the lease, so that the first in line need
// not ask the instances who does.
func (l *locals) held(lease *Lease, followed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lineLocked(lease.hold.key)
	at.holder, at.yield = lease, 0
	if !followed {
		at.turns = at.newTurns(l.reader.Now().Mono)
	}
	if len(l.lines) >= l.sweepAt {
		l.sweepLocked()
		l.sweepAt = max(sweepLeast, 2*len(l.lines))
	}
}

// newTurns is how many turns this process has when the lock comes to it.
func (at *line) newTurns(now time.Duration) int {
	n := len(at.waiting)
	switch {
	case !at.brief:
		return min(n, maxTurns)
	case n > 1 && !at.contestedAt(now):
		return maxTurns
	default:
		return min(2*n, maxTurns)
	}
}

// heirs is how many may follow the first in line without a round of their own, if the
// lock comes to it and all goes on as it did; followed says that it is in turn already.
func (t *ticket) heirs(followed bool) int {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	if !at.brief {
		return 0
	}
	turns := at.turns
	if !followed {
		turns = at.newTurns(l.reader.Now().Mono)
	}
	return max(turns-1, 0)
}

// sweepLocked forgets leases that ran out without a release, which nothing else
// would ever take off the list, and those who didn't come although let in.
func (l *locals) sweepLocked() {
	for key, at := range l.lines {
		if len(at.waiting) == 0 && (at.holder == nil || at.holder.expired()) && !at.contestedAt(l.reader.Now().Mono) {
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
	at.holder, at.freed = nil, true
	at.tellLocked()
	l.dropLocked(lease.hold.key, at)
}

// succeed gives the lease that is being released to the first in line, if that
// one waits for it and it is still this process's turn.
func (l *locals) succeed(lease *Lease) *succession {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[lease.hold.key]
	if at == nil || at.holder != lease {
		return nil
	}
	at.brief = lease.brief()
	if len(at.waiting) == 0 || !at.waiting[0].parked || at.turns <= 1 {
		return nil
	}
	at.turns--
	next := at.waiting[0]
	next.gift, next.parked = newSuccession(lease), false
	at.tellLocked()
	return next.gift
}

// passed notes that another one follows the lease.
func (l *locals) passed(lease *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.lines[lease.hold.key]; at != nil && at.holder == lease {
		at.holder = nil
		l.dropLocked(lease.hold.key, at)
	}
}

// wanted reports whether somebody waits for the lease in this process, or may do so
// in another one.
func (l *locals) wanted(lease *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[lease.hold.key]
	return at != nil && at.holder == lease &&
		(len(at.waiting) > 0 || at.contested != 0 && at.contestedAt(l.reader.Now().Mono))
}

// letIn notes that a release called another process.
func (l *locals) letIn(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lineLocked(key)
	now := l.reader.Now().Mono
	at.yield, at.contested = now+yieldFor, now+contestedFor
}

// yields reports, once, whether another process is to be let in first.
func (t *ticket) yields() bool {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	yield := at.yield != 0 && l.reader.Now().Mono < at.yield
	at.yield = 0
	return yield
}

// park makes the ticket ready to follow the lease of this process that it waits
// for.
func (t *ticket) park() {
	t.locals.mu.Lock()
	defer t.locals.mu.Unlock()
	t.parked = true
}

// read takes the news. Who reads isn't parked any more: a gift that is in it has to
// be taken or declined.
func (t *ticket) read() news {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	n := news{gift: t.gift, freed: at.freed, called: at.called}
	t.gift, t.parked = nil, false
	at.freed, at.called, t.told = false, false, false
	select {
	case <-t.wake:
	default:
	}
	return n
}

// listen sets the ear by which the first in line is to be called, and gives this
// process's place, if it has one there.
func (t *ticket) listen(ear *hearing) place {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	at.ear = ear
	if at.place.ear != ear {
		return place{}
	}
	return at.place
}

// stand sets this process's place, and gives the one that it had elsewhere.
func (t *ticket) stand(p place) (before place) {
	l := t.locals
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[t.key]
	before, at.place = at.place, p
	at.contested = l.reader.Now().Mono + contestedFor
	if before.ear == p.ear {
		return place{}
	}
	return before
}

// call takes in a call for the key, and reports whether it is for anybody here.
func (l *locals) call(key string, ear *hearing) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[key]
	if at == nil || at.place.ear != ear {
		return false
	}
	at.place.called, at.called = true, true
	at.tellLocked()
	return true
}

// changed has those who listen by the ear look at it again: it was opened, or lost
// together with their places.
func (l *locals) changed(ear *hearing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.lines {
		if at.place.ear == ear {
			at.place = place{}
		}
		if at.ear == ear {
			at.tellLocked()
		}
	}
}

// tellLocked wakes the first in line.
func (at *line) tellLocked() {
	if len(at.waiting) == 0 {
		return
	}
	first := at.waiting[0]
	first.told = true
	select {
	case first.wake <- struct{}{}:
	default: // it is told already, or will be when it waits
	}
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

// contestedAt reports whether another process may want the lock, too.
func (at *line) contestedAt(now time.Duration) bool { return now < at.contested }

func (l *locals) lineLocked(key string) *line {
	at := l.lines[key]
	if at == nil {
		at = &line{}
		at.waiting = at.room[:0]
		l.lines[key] = at
	}
	return at
}

func (l *locals) dropLocked(key string, at *line) {
	if len(at.waiting) == 0 && at.holder == nil && (at.contested == 0 || !at.contestedAt(l.reader.Now().Mono)) {
		delete(l.lines, key)
	}
}
