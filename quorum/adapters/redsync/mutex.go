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
// has one lease at a time: the one of the last Lock that succeeded.
type Mutex struct {
	rs     *Redsync
	name   string
	expiry time.Duration
	tries  int
	delay  DelayFunc
	err    error // why it can't lock

	once, locks *quorum.Coordinator // views

	mu    sync.Mutex
	lease *quorum.Lease
}

// Name is the lock's key.
func (m *Mutex) Name() string { return m.name }

// Value is what the servers hold for the lock, empty before the first Lock. It is also empty once
// an Unlock has handed the lock to another goroutine of this process.
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
	return m.lock(ctx, 1, func(ctx context.Context) (*quorum.Lease, error) { return m.once.TryAcquire(ctx, m.name) })
}

// Lock is LockContext without a context.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// LockContext takes the lock, and waits for it as long as WithTries says. A nil ctx never ends.
//
// Errors: *ErrTaken if another client has the lock; ErrFailed if ctx ended, or the servers
// answered so late that no validity was left; *RedisError and *ErrNodeTaken for each server if too
// few answered; *OptionError; and other errors of quorum.Coordinator.Acquire. All are for errors.Is
// and errors.As.
func (m *Mutex) LockContext(ctx context.Context) error {
	return m.lock(ctx, m.tries, func(ctx context.Context) (*quorum.Lease, error) { return m.locks.Acquire(ctx, m.name) })
}

func (m *Mutex) lock(ctx context.Context, tries int, acquire func(context.Context) (*quorum.Lease, error)) error {
	if m.err != nil {
		return m.err
	}
	if tries <= 0 {
		return fmt.Errorf("%w: WithTries is %d, so it doesn't try", ErrFailed, tries)
	}
	lease, err := acquire(orBackground(ctx))
	if err != nil {
		return failedToLock(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = lease
	return nil
}

// Unlock is UnlockContext without a context.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext frees the lock, also if ctx has ended. It returns true if a quorum of servers still
// had the lock. Otherwise the error Is ErrLockAlreadyExpired, and work may have gone on without the
// lock; or it has *RedisErrors, because too few servers answered to tell. Then the deletes are
// repeated until the servers answer.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	lease := m.Lease()
	if lease == nil {
		return false, m.notLocked(ErrLockAlreadyExpired)
	}
	err := lease.Release(orBackground(ctx))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, quorum.ErrNotHeld), errors.Is(err, quorum.ErrReleased), errors.Is(err, quorum.ErrHandedOff):
		return false, fmt.Errorf("%w: %w", ErrLockAlreadyExpired, err)
	default:
		return false, asRedsync(err)
	}
}

// Extend is ExtendContext without a context.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext gives the lock its expiry anew, from now. If it returns false the error Is
// ErrExtendFailed. It then also is an *ErrTaken if a quorum of servers has the lock no more, after
// which it has ended. Otherwise it lasts until its old end.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	lease := m.Lease()
	if lease == nil {
		return false, m.notLocked(ErrExtendFailed)
	}
	if err := lease.Extend(orBackground(ctx)); err != nil {
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
	lease := m.Lease()
	if lease == nil {
		return false, m.notLocked(&ErrTaken{cause: quorum.ErrNotHeld})
	}
	found, err := m.locks.Inspect(orBackground(ctx), m.name)
	if err != nil {
		return false, asRedsync(err)
	}
	if err := lease.Err(); err != nil {
		return false, &ErrTaken{cause: err}
	}
	if held := found.Held(); held == nil || held.Value != lease.Value() {
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

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
