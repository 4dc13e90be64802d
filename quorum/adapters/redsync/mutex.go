package redsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// Mutex is a lock that several processes share. Unlike redsync's it is safe for concurrent use. It
// has one lease at a time: the one of the last Lock that succeeded. Value, Until and Lease show it.
//
// Call Unlock once for each Lock that succeeded, also if the lock has ended meanwhile, and also if
// Extend has said so. A Mutex doesn't know which goroutine calls it. If a lock ended before its
// Unlock, and the Mutex was locked again, the next Unlock may come from either holder. It deletes
// nothing and returns ErrLockAlreadyExpired. The Unlock after it frees the lock. So no Unlock frees
// a lock under which another goroutine works. The price: after a missing Unlock each later Unlock
// stands for the Lock before its own, so each lock lasts until its expiry. A new Mutex starts afresh.
//
// In the same way one call of Extend or Valid fails for each lock that ended before another Lock,
// unless an Extend, Valid or Unlock had reported its end. A holder that was told that its lock has
// ended must not ask again. If you need exact answers, make a Mutex for each goroutine, or for each
// lock. Mutexes of one name exclude each other.
type Mutex struct {
	rs     *Redsync
	name   string
	expiry time.Duration
	tries  int
	delay  DelayFunc
	err    error               // why it can't lock
	locks  *quorum.Coordinator // a view with the mutex's terms

	mu      sync.Mutex
	lease   *quorum.Lease // of the last Lock
	told    bool          // Extend or Valid has reported the end of that lease
	pending int           // Locks without an Unlock. All but the last have ended
	untold  int           // those before the last whose end nothing has reported
}

// Name is the lock's key.
func (m *Mutex) Name() string { return m.name }

// Value is what the servers hold for the lock, empty before the first Lock.
func (m *Mutex) Value() string { return m.Lease().Value() }

// Until is when the lock's validity is used up, or when it ended. It is the zero time before the
// first Lock. A wall clock may be set, so to find out how much is left use Lease().Validity().
func (m *Mutex) Until() time.Time { return m.Lease().Deadline() }

// Lease is the lease of the last Lock, nil before the first. It has the fencing token, a context
// that ends with the lock, and KeepAlive. A nil Lease may be used: it has ended.
func (m *Mutex) Lease() *quorum.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// TryLock is TryLockContext without a context.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext tries once. The errors are those of LockContext.
func (m *Mutex) TryLockContext(ctx context.Context) error {
	return m.lock(ctx, 1, m.locks.TryAcquire)
}

// Lock is LockContext without a context.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// LockContext takes the lock, and waits for it as long as WithTries says, and until enough servers may
// vote. A nil ctx never ends.
//
// Errors: *ErrTaken if another client has the lock; ErrFailed if ctx ended, or the servers
// answered so late that no validity was left; *RedisError and *ErrNodeTaken for each server if too
// few answered; *OptionError; and other errors of quorum.Coordinator.Acquire. All are for errors.Is
// and errors.As.
func (m *Mutex) LockContext(ctx context.Context) error {
	return m.lock(ctx, m.tries, m.locks.Acquire)
}

func (m *Mutex) lock(ctx context.Context, tries int, acquire func(context.Context, string) (*quorum.Lease, error)) error {
	if m.err != nil {
		return m.err
	}
	if tries <= 0 {
		return fmt.Errorf("%w: WithTries is %d, so it doesn't try", ErrFailed, tries)
	}
	lease, err := acquire(orBackground(ctx), m.name)
	// redsync has no quarantines, so its tries don't allow for them. Each ends.
	for tries > 1 && errors.Is(err, quorum.ErrExhausted) && errors.Is(err, quorum.ErrNoQuorum) && errors.Is(err, quorum.ErrQuarantined) {
		lease, err = acquire(orBackground(ctx), m.name)
	}
	if err != nil {
		return failedToLock(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending > 0 && !m.told {
		m.untold++
	}
	m.lease, m.told = lease, false
	m.pending++
	return nil
}

// Unlock is UnlockContext without a context.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext frees the lock, also if ctx has ended. It returns true if a quorum of servers still
// had the lock. Otherwise the error Is ErrLockAlreadyExpired, and work may have gone on without the
// lock; or it has *RedisErrors, because too few servers answered to tell. Then the deletes are
// repeated until the servers answer. Call it once for each Lock that succeeded, see Mutex.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	lease, err := m.takeLease()
	if err != nil {
		return false, err
	}
	err = lease.Release(orBackground(ctx))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, quorum.ErrNotHeld), errors.Is(err, quorum.ErrReleased), errors.Is(err, quorum.ErrHandedOff):
		return false, fmt.Errorf("%w: %w", ErrLockAlreadyExpired, err)
	default:
		return false, asRedsync(err)
	}
}

// takeLease returns the lease that an Unlock releases. It is an error if that may be the Unlock of an
// earlier lock, because the last one may have another holder.
func (m *Mutex) takeLease() (*quorum.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lease == nil {
		return nil, m.notLocked(ErrLockAlreadyExpired)
	}
	if m.pending > 1 {
		m.pending--
		// If Extend has reported that end before, a later Extend or Valid fails needlessly.
		m.untold = min(m.untold, m.pending-1)
		return nil, m.endedBefore(ErrLockAlreadyExpired)
	}
	m.pending = 0
	return m.lease, nil
}

// lastLease returns the lease of the last Lock for Extend and Valid. It is an error if the caller may
// be the holder of an earlier lock, and doesn't know yet that it has ended.
func (m *Mutex) lastLease(verdict error) (*quorum.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lease == nil {
		return nil, m.notLocked(verdict)
	}
	if m.untold > 0 {
		m.untold--
		return nil, m.endedBefore(verdict)
	}
	return m.lease, nil
}

// tell notes that the end of a lease is reported to its holder.
func (m *Mutex) tell(lease *quorum.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = m.told || m.lease == lease
}

// Extend is ExtendContext without a context.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext gives the lock its expiry anew, from now. If it returns false the error Is
// ErrExtendFailed. It then also is an *ErrTaken if a quorum of servers has the lock no more, after
// which it has ended; or quorum.ErrNotHeld if a lock of this mutex has ended and the caller may be
// its holder, see Mutex. Otherwise the lock lasts until its old end.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	lease, err := m.lastLease(ErrExtendFailed)
	if err != nil {
		return false, err
	}
	if err := lease.Extend(orBackground(ctx)); err != nil {
		if lease.Err() != nil {
			m.tell(lease)
		}
		return false, fmt.Errorf("%w: %w", ErrExtendFailed, asRedsync(err))
	}
	return true, nil
}

// Valid is ValidContext without a context.
//
// Deprecated: Use Until, or Lease().Validity().
func (m *Mutex) Valid() (bool, error) { return m.ValidContext(context.Background()) }

// ValidContext asks the servers whether a quorum has the lock of this mutex, and looks whether its
// validity lasts. If it returns false the error says why: *ErrTaken if the lock has ended, or the
// servers don't have it; *RedisErrors if too few answered.
//
// Deprecated: Use Until, or Lease().Validity(), which ask no server.
func (m *Mutex) ValidContext(ctx context.Context) (bool, error) {
	lease, err := m.lastLease(&ErrTaken{cause: quorum.ErrNotHeld})
	if err != nil {
		return false, err
	}
	found, err := m.locks.Inspect(orBackground(ctx), m.name)
	if err != nil {
		return false, asRedsync(err)
	}
	if err := lease.Err(); err != nil {
		m.tell(lease)
		return false, &ErrTaken{cause: err}
	}
	if held := found.Held(); held == nil || held.Value != lease.Value() {
		m.tell(lease)
		return false, &ErrTaken{cause: fmt.Errorf("%w: %v", quorum.ErrNotHeld, found)}
	}
	return true, nil
}

// notLocked is the error of a call that needs a lock when there was none.
func (m *Mutex) notLocked(verdict error) error {
	if m.err != nil {
		return m.err
	}
	return fmt.Errorf("%w: %w: %q was not locked by this mutex", verdict, quorum.ErrNotHeld, m.name)
}

// endedBefore is the error of a call that may come from the holder of an earlier lock.
func (m *Mutex) endedBefore(verdict error) error {
	return fmt.Errorf("%w: %w: a lock of %q ended before its Unlock, and this call may come from its holder, not from that of the last Lock", verdict, quorum.ErrNotHeld, m.name)
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
