package readwrite

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/anyof"
)

// MaxReaders is the number of places, and so the largest Config.Readers. It is how many keys a lease
// may have (wire.MaxKeys), because a writer takes all places in one lease.
const MaxReaders = 16

// Config sets up a Lock. The zero Config is ready to use.
type Config struct {
	// Readers is how many may read at once: 1 to MaxReaders. Clients may have different settings,
	// so it can be changed in one client after the other. The largest setting is then the bound.
	// A writer excludes all readers in any case. With a lower setting, a reader looks for a free
	// place among fewer keys. Default: MaxReaders.
	Readers int
}

// Lock is a read/write lock. It is safe for concurrent use, and has no goroutine of its own.
type Lock struct {
	name             string
	turn             string   // the key that the next caller has
	places           []string // the keys that readers and writers have
	reading, writing side
	locks            *quorum.Coordinator
}

// side is what readers and writers differ in: which keys they take, and how.
type side struct {
	verb      string
	keys      []string
	try, wait func(context.Context, *quorum.Coordinator, ...string) (*quorum.Lease, error)
}

func tryAll(ctx context.Context, locks *quorum.Coordinator, keys ...string) (*quorum.Lease, error) {
	return locks.TryAcquireAll(ctx, keys...)
}

func acquireAll(ctx context.Context, locks *quorum.Coordinator, keys ...string) (*quorum.Lease, error) {
	return locks.AcquireAll(ctx, keys...)
}

// New makes a Lock on a Coordinator, with its terms. Locks of the same name on the same servers are one
// lock. Its keys are NAME#1 to NAME#16, the places, and NAME#next, the turn. No lock for another
// purpose may use these keys. New asks no server.
//
// All errors are quorum.ErrConfig.
func New(locks *quorum.Coordinator, name string, cfg Config) (*Lock, error) {
	if _, err := locks.WithTerms(func(*quorum.Terms) {}); err != nil {
		return nil, fmt.Errorf("readwrite: %w", err) // it is nil, or wasn't made by quorum.New
	}
	if cfg.Readers == 0 {
		cfg.Readers = MaxReaders
	}
	if cfg.Readers < 1 || cfg.Readers > MaxReaders {
		return nil, fmt.Errorf("%w: readwrite: Readers is %d, want 1 to %d; for more, let goroutines of one process share a reader's lease", quorum.ErrConfig, cfg.Readers, MaxReaders)
	}
	l := &Lock{name: name, turn: name + "#next", locks: locks}
	for _, key := range []string{name, l.turn} { // which is the longest key
		if err := quorum.ValidateKey(key); err != nil {
			return nil, fmt.Errorf("readwrite: the name, to which #next is added: %w", err)
		}
	}
	for i := range MaxReaders {
		l.places = append(l.places, fmt.Sprintf("%s#%d", name, i+1))
	}
	//guard:readers-keep-to-their-setting  no more callers read at once than Readers
	l.reading = side{"read", l.places[:cfg.Readers], anyof.TryAcquire, anyof.Acquire}
	//guard:writer-has-all-places  a writer takes all places, however few of them readers use
	l.writing = side{"write", l.places, tryAll, acquireAll}
	return l, nil
}

// none reports whether New didn't make the Lock.
func (l *Lock) none() bool { return l == nil || l.locks == nil }

var errNoLock = fmt.Errorf("%w: readwrite: the Lock is nil, or was not made by New; look at the error that came instead of it", quorum.ErrConfig)

// Read returns a reader's lease: others may read at the same time, and nobody writes. It waits in one
// queue with all other readers and writers, until ctx ends. Terms.MaxWait bounds the whole wait, and
// Terms.MaxTries the tries at each of its steps: a try, the turn, and the places.
// Terms.MinValidity applies to the round; if the caller had to wait for its turn, one more round
// trip has passed since then. Hooks see each step under its own keys.
//
// Errors: those of anyof.Acquire; ErrHeldByCaller if ctx belongs to a lease on this lock.
func (l *Lock) Read(ctx context.Context) (*quorum.Lease, error) {
	if l.none() {
		return nil, errNoLock
	}
	return l.enter(ctx, l.reading)
}

// Write returns a writer's lease: nobody else reads or writes. It waits as Read does.
//
// Errors: those of Coordinator.AcquireAll; ErrHeldByCaller if ctx belongs to a lease on this lock.
func (l *Lock) Write(ctx context.Context) (*quorum.Lease, error) {
	if l.none() {
		return nil, errNoLock
	}
	return l.enter(ctx, l.writing)
}

// TryRead is Read without a wait. ErrTaken means that all places are taken, or that another caller
// waits.
//
// Errors: those of anyof.TryAcquire; ErrHeldByCaller as with Read.
func (l *Lock) TryRead(ctx context.Context) (*quorum.Lease, error) {
	if l.none() {
		return nil, errNoLock
	}
	return l.try(ctx, l.reading)
}

// TryWrite is Write without a wait. ErrTaken means that a place is taken, or that another caller
// waits.
//
// Errors: those of Coordinator.TryAcquireAll; ErrHeldByCaller as with Write.
func (l *Lock) TryWrite(ctx context.Context) (*quorum.Lease, error) {
	if l.none() {
		return nil, errNoLock
	}
	return l.try(ctx, l.writing)
}

// try takes the places if they are free, unless another caller has the turn.
func (l *Lock) try(ctx context.Context, s side) (*quorum.Lease, error) {
	if l.locks.Holds(ctx, l.places...) {
		return nil, fmt.Errorf("%w: readwrite: to %s %q it would wait for itself, or for a writer that waits for it; use the lease that it has, or release it first and read everything again", quorum.ErrHeldByCaller, s.verb, l.name)
	}
	err := l.locks.Free(ctx, l.turn)
	if err != nil {
		return nil, l.failed(s, err)
	}
	lease, err := s.try(ctx, l.locks, s.keys...)
	if err != nil {
		return nil, l.failed(s, err)
	}
	return lease, nil
}

// enter tries, and then waits for the turn and the places.
func (l *Lock) enter(ctx context.Context, s side) (*quorum.Lease, error) {
	of := l.locks.Config()
	began := of.Lab.Clock.Now()
	bounded := func(t *quorum.Terms) {
		if t.MaxWait > 0 {
			t.MaxWait = max(1, t.MaxWait-of.Lab.Clock.Since(began))
		}
	}
	trying := ctx
	if of.MaxWait > 0 {
		var cancel context.CancelFunc
		trying, cancel = of.Lab.Clock.WithTimeout(ctx, of.MaxWait)
		defer cancel()
	}
	lease, err := l.try(trying, s)
	// The servers would refuse a client of another set the turn, too.
	refused := errors.Is(err, quorum.ErrSetMismatch) && !quorum.Retryable(err)
	if err == nil || refused || errors.Is(err, quorum.ErrHeldByCaller) {
		return lease, err
	}
	// A holder that leaves notifies the caller that has the turn, which then leaves the turn to the next one in
	// the queue. A new caller, which may be that holder, would ask for it at the same moment. Close doesn't
	// end this pause, so it isn't long.
	select {
	case <-of.Lab.Clock.After(min(of.Lab.BackoffMin, of.InstanceTimeout)):
	case <-trying.Done():
	}
	for again := true; again; {
		lease, again, err = l.wait(ctx, s, bounded)
	}
	if err != nil {
		return nil, l.failed(s, err)
	}
	return lease, nil
}

// wait waits for the turn, and with it for the places. again says that the caller lost the turn
// before it had its places.
func (l *Lock) wait(ctx context.Context, s side, bounded func(*quorum.Terms)) (lease *quorum.Lease, again bool, err error) {
	queue, err := l.locks.WithTerms(func(t *quorum.Terms) {
		bounded(t)
		t.MaxLife = 0 // it bounds the lease, not the wait
	})
	if err != nil {
		return nil, false, err
	}
	returned := false
	defer func() {
		if !returned {
			_ = lease.Release(ctx) // a hook has panicked; nil if there is none
		}
	}()
	// A caller that has its places, or gives up, lets the next one have the turn.
	err = queue.Do(ctx, l.turn, func(held context.Context, turn *quorum.Lease) error {
		places, err := l.locks.WithTerms(bounded)
		if err != nil {
			return err
		}
		//guard:turn-until-it-has-places  no new caller passes one that waits for its places
		lease, err = s.wait(held, places, s.keys...)
		return err
	})
	returned = true
	if lease != nil {
		return lease, false, nil // also if the turn was lost meanwhile
	}
	return nil, errors.Is(err, quorum.ErrInterrupted) && ctx.Err() == nil, err
}

func (l *Lock) failed(s side, err error) error {
	return fmt.Errorf("readwrite: to %s %q: %w", s.verb, l.name, err)
}
