package readwrite

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum"
)

// MaxReaders is the largest number of readers, and how many places there are: as many as one lease
// may have keys (wire.MaxKeys), because a writer takes all of them in one lease.
const MaxReaders = 16

// Config sets up a Lock. The zero Config is ready to use.
type Config struct {
	// Readers is how many may read at once: 1 to MaxReaders. Clients may differ in it, and it can be
	// changed while they run: a writer excludes all readers in any case. Then at most as many read
	// at once as the largest of these numbers. Default: MaxReaders.
	Readers int
}

// Lock is a read/write lock. It is safe for concurrent use, and has no goroutine of its own.
type Lock struct {
	name    string
	next    string // the key of the caller that is next
	places  []string
	reading side
	writing side
	locks   *quorum.Coordinator
}

// side is what readers and writers differ in: how they take which of the places.
type side struct {
	verb      string
	keys      []string
	try, wait func(*quorum.Coordinator, context.Context, ...string) (*quorum.Lease, error)
}

// New makes a Lock on a Coordinator. Locks of the same name on the same servers are one lock. Its keys
// are NAME#1 to NAME#16, the places, and NAME#next. No lock of another purpose may have them. New asks
// no server.
//
// All errors are quorum.ErrConfig.
func New(locks *quorum.Coordinator, name string, cfg Config) (*Lock, error) {
	if locks == nil {
		return nil, fmt.Errorf("%w: readwrite: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)
	}
	if cfg.Readers == 0 {
		cfg.Readers = MaxReaders
	}
	if cfg.Readers < 1 || cfg.Readers > MaxReaders {
		return nil, fmt.Errorf("%w: readwrite: Readers is %d, want 1 to %d: a writer takes all places in one lease, which has at most so many keys; goroutines of one process can share a reader's lease", quorum.ErrConfig, cfg.Readers, MaxReaders)
	}
	l := &Lock{name: name, next: name + "#next", locks: locks}
	for _, key := range []string{name, l.next} { // the longest
		if err := quorum.ValidateKey(key); err != nil {
			return nil, fmt.Errorf("readwrite: the name, to which #next is added: %w", err)
		}
	}
	for i := range MaxReaders {
		l.places = append(l.places, fmt.Sprintf("%s#%d", name, i+1))
	}
	//guard:readers-keep-to-their-setting  no more read at once than Readers
	l.reading = side{"read", l.places[:cfg.Readers], (*quorum.Coordinator).TryAcquireAny, (*quorum.Coordinator).AcquireAny}
	//guard:writer-has-all-places  a writer takes all places, however many of them readers use
	l.writing = side{"write", l.places, (*quorum.Coordinator).TryAcquireAll, (*quorum.Coordinator).AcquireAll}
	return l, nil
}

// Read returns a lease to read under. Others may read at the same time, as many as Config.Readers, and
// nobody writes. It waits as Coordinator.Acquire does, in one queue with all others who wait to read or
// to write.
//
// Terms apply as to Acquire. MaxWait bounds the whole wait, and MaxTries the tries at each of its steps.
// Hooks see each step under its key.
//
// Errors: those of Coordinator.AcquireAny. ErrHeldByCaller if the caller reads or writes already.
func (l *Lock) Read(ctx context.Context) (*quorum.Lease, error) { return l.enter(ctx, l.reading) }

// Write returns a lease to write under. Nobody else reads or writes meanwhile. It waits as Read does.
//
// Errors: those of Coordinator.AcquireAll. ErrHeldByCaller if the caller reads or writes already: two
// readers that want to write would wait for each other.
func (l *Lock) Write(ctx context.Context) (*quorum.Lease, error) { return l.enter(ctx, l.writing) }

// TryRead is Read without a wait. ErrTaken also if another caller waits for its turn.
//
// Errors: those of Coordinator.TryAcquireAny, and ErrHeldByCaller as in Read.
func (l *Lock) TryRead(ctx context.Context) (*quorum.Lease, error) { return l.try(ctx, l.reading) }

// TryWrite is Write without a wait. ErrTaken also if another caller waits for its turn.
//
// Errors: those of Coordinator.TryAcquireAll, and ErrHeldByCaller as in Write.
func (l *Lock) TryWrite(ctx context.Context) (*quorum.Lease, error) { return l.try(ctx, l.writing) }

// try takes the places that are free, unless another caller is next.
func (l *Lock) try(ctx context.Context, s side) (*quorum.Lease, error) {
	//guard:no-second-place  a caller that reads or writes isn't let wait for itself
	if l.locks.Holds(ctx, l.places...) {
		return nil, fmt.Errorf("%w: readwrite: to %s %q it would wait for itself, and for a writer that waits for it; use the lease that it has, or release it first and look at the data again", quorum.ErrHeldByCaller, s.verb, l.name)
	}
	//guard:newcomers-queue  who comes doesn't pass a caller that is next
	err := l.locks.Free(ctx, l.next)
	if err != nil {
		return nil, l.failed(s, err)
	}
	lease, err := s.try(l.locks, ctx, s.keys...)
	if err != nil {
		return nil, l.failed(s, err)
	}
	return lease, nil
}

// enter tries, and then waits until the caller is next, and for the places.
func (l *Lock) enter(ctx context.Context, s side) (*quorum.Lease, error) {
	of := l.locks.Config()
	began := of.Clock.Now()
	// What is left of MaxWait.
	bounded := func(t *quorum.Terms) {
		if t.MaxWait > 0 {
			//guard:one-max-wait  MaxWait bounds both waits together
			t.MaxWait = max(1, t.MaxWait-of.Clock.Since(began))
		}
	}
	lease, err := l.try(ctx, s)
	if err == nil || errors.Is(err, quorum.ErrHeldByCaller) {
		return lease, err
	}
	for again := true; again; {
		if lease, again, err = l.wait(ctx, s, bounded); err != nil {
			err = l.failed(s, err)
		} else if lease.Validity() == 0 {
			//guard:over-before-it-began  a lease that ended while its caller let the next one follow isn't returned
			again = true
			_ = lease.Release(ctx) // what is left of it
		}
	}
	return lease, err
}

// wait waits until the caller is next, and then for the places. It reports whether the caller lost its
// turn meanwhile, and must queue again.
func (l *Lock) wait(ctx context.Context, s side, bounded func(*quorum.Terms)) (lease *quorum.Lease, again bool, err error) {
	queue, err := l.locks.WithTerms(func(t *quorum.Terms) {
		bounded(t)
		//guard:next-as-long-as-it-takes  MaxLife bounds the lease, and not the wait for it
		t.KeepAlive, t.MaxLife = true, 0
	})
	if err != nil {
		return nil, false, err
	}
	turn, err := queue.Acquire(ctx, l.next)
	if err != nil {
		return nil, false, err
	}
	//guard:next-makes-room  who has its places lets the next caller follow
	defer turn.Release(ctx) //nolint:errcheck // deletes that fail stay pending
	view, err := l.locks.WithTerms(bounded)
	if err != nil {
		return nil, false, err
	}
	//guard:next-until-it-has-its-places  who waits for its places keeps others from passing it
	lease, err = s.wait(view, turn.Within(ctx), s.keys...)
	//guard:lost-turn-is-taken-again  who loses its turn, so that others may pass it, queues again
	again = errors.Is(err, quorum.ErrInterrupted) && ctx.Err() == nil
	return lease, again, err
}

func (l *Lock) failed(s side, err error) error {
	return fmt.Errorf("readwrite: to %s %q: %w", s.verb, l.name, err)
}
