// Package certmagiclock has the Locker of certmagic on package quorum, so that one of several
// processes obtains a certificate:
//
//	locker, err := certmagiclock.New(locks, "certmagic/")
//	...
//	certmagic.Default.Storage = certmagiclock.Storage(certmagic.Default.Storage, locker)
//
// # What is promised
//
//   - One process at a time has a name's lock, as package quorum promises. Goroutines of one process
//     exclude each other, too, and one that has lost its lease does so until it unlocks.
//   - The lock is kept alive for as long as its holder runs, however long certmagic tries. It is free
//     a TTL (10 s by default) after its holder crashed.
//   - Before each try certmagic asks for the lease to be renewed (RenewLockLease). If the lease was
//     lost, it is taken anew, and certmagic looks at the storage again; if another process has it, the
//     try fails, and certmagic tries later. So a lock that was lost isn't worked under for longer
//     than one try.
//
// # What is not promised
//
//   - certmagic has no way to end a try when its lock is lost. Coordinator's Hooks.Lost is called,
//     and Unlock returns an error, which certmagic logs.
//   - The fencing token isn't checked by anything, because certmagic's Storage has no place for it.
//     Lease has it, for a storage of your own. Without that two processes may obtain the same
//     certificate if one was paused. certmagic expects that to be rare, and then one certificate too
//     many is issued.
package certmagiclock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/redquorum/redlock/quorum"
)

// ErrNotLocked is the error of Unlock and RenewLockLease for a name that this Locker has not locked.
var ErrNotLocked = errors.New("certmagiclock: the name is not locked")

// Locker is a certmagic.Locker, TryLocker and LockLeaseRenewer. It is safe for concurrent use. Make
// one for each process, and Unlock before the Coordinator is closed.
type Locker struct {
	locks  *quorum.Coordinator
	prefix string

	mu    sync.Mutex
	holds map[string]*hold // by name, until Unlock
}

// hold is a lock of this process between Lock and Unlock, also if its lease was lost.
type hold struct {
	lease *quorum.Lease // guarded by Locker.mu
	over  chan struct{} // closed by Unlock
}

var (
	_ certmagic.Locker           = (*Locker)(nil)
	_ certmagic.TryLocker        = (*Locker)(nil)
	_ certmagic.LockLeaseRenewer = (*Locker)(nil)
)

// New makes a Locker. The lock of a name has the key prefix+name, so that no other purpose has the
// same key: 1 to 1024 bytes in all, without NUL and braces. Of the Coordinator's terms TTL and
// MaxLife apply. certmagic may hold a lock for a month, so set no MaxLife. Errors are
// quorum.ErrConfig.
func New(locks *quorum.Coordinator, prefix string) (*Locker, error) {
	if locks == nil {
		return nil, fmt.Errorf("%w: certmagiclock: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)
	}
	if err := quorum.ValidateKey(prefix + "name"); err != nil {
		return nil, fmt.Errorf("certmagiclock: the prefix: %w", err)
	}
	view, err := locks.WithTerms(func(t *quorum.Terms) { t.MaxTries, t.MaxWait, t.KeepAlive = 0, 0, true })
	if err != nil {
		return nil, fmt.Errorf("certmagiclock: %w", err)
	}
	return &Locker{locks: view, prefix: prefix, holds: map[string]*hold{}}, nil
}

// Storage is storage with the locks of a Locker in place of its own.
func Storage(storage certmagic.Storage, locker *Locker) certmagic.Storage {
	return lockedStorage{storage, locker}
}

// lockedStorage has TryLock and RenewLockLease of its Locker, and chooses the Locker's Lock and Unlock.
type lockedStorage struct {
	certmagic.Storage
	*Locker
}

func (s lockedStorage) Lock(ctx context.Context, name string) error {
	return s.Locker.Lock(ctx, name)
}

func (s lockedStorage) Unlock(ctx context.Context, name string) error {
	return s.Locker.Unlock(ctx, name)
}

// Lock takes the lock of a name, and waits for it until ctx ends. The error is
// Coordinator.Acquire's.
func (l *Locker) Lock(ctx context.Context, name string) error {
	for {
		lease, err := l.locks.Acquire(ctx, l.prefix+name)
		if err != nil {
			return err
		}
		earlier := l.keep(ctx, name, lease)
		if earlier == nil {
			return nil
		}
		select {
		case <-earlier.over:
		case <-ctx.Done(): // Acquire says so
		}
	}
}

// keep notes a new lease. If a goroutine of this process has lost the lock and hasn't unlocked yet,
// keep releases the lease and returns that goroutine's hold. RenewLockLease doesn't know which
// goroutine calls it. If a name had two holds, it would tell the goroutine that has lost its lease
// that it has the other's.
func (l *Locker) keep(ctx context.Context, name string, lease *quorum.Lease) (earlier *hold) {
	l.mu.Lock()
	if earlier = l.holds[name]; earlier == nil {
		l.holds[name] = &hold{lease, make(chan struct{})}
	}
	l.mu.Unlock()
	if earlier != nil {
		_ = lease.Release(ctx) // failed deletes stay pending
	}
	return earlier
}

// TryLock tries once, and returns false if another holder has the lock. The error is
// Coordinator.TryAcquire's.
func (l *Locker) TryLock(ctx context.Context, name string) (bool, error) {
	lease, err := l.locks.TryAcquire(ctx, l.prefix+name)
	if errors.Is(err, quorum.ErrTaken) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return l.keep(ctx, name, lease) == nil, nil
}

// Unlock frees the lock of a name, also if ctx has ended. It returns an error if the work went on
// without the lock: quorum.ErrNotHeld or quorum.ErrLost; and ErrNotLocked. Where too few servers
// answer there is no error, because the deletes are repeated, and the keys expire in any case.
func (l *Locker) Unlock(ctx context.Context, name string) error {
	lease := l.take(name)
	if lease == nil {
		return fmt.Errorf("%w: %q", ErrNotLocked, name)
	}
	lost := lease.Err()
	err := lease.Release(ctx)
	if errors.Is(err, quorum.ErrUnreachable) {
		err = nil
	}
	if lost != nil {
		return fmt.Errorf("certmagiclock: %q: %w", name, lost)
	}
	return err
}

// take ends the hold of a name, and returns its lease, nil if there is none.
func (l *Locker) take(name string) *quorum.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holds[name]
	if h == nil {
		return nil
	}
	delete(l.holds, name)
	close(h.over)
	return h.lease
}

// Lease is the lease under which this process has locked a name, nil if it hasn't. It has the fencing
// token. It may be lost: Lease.Err says so.
func (l *Locker) Lease(name string) *quorum.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[name]; h != nil {
		return h.lease
	}
	return nil
}

// RenewLockLease returns nil if this process has the lock of a name. If the lease was lost it tries
// to take the lock anew. Otherwise the error is Coordinator.TryAcquire's, or ErrNotLocked. The
// duration doesn't matter: every lease is kept alive until Unlock.
func (l *Locker) RenewLockLease(ctx context.Context, name string, _ time.Duration) error {
	lost := l.Lease(name)
	if lost == nil {
		return fmt.Errorf("%w: %q", ErrNotLocked, name)
	}
	if lost.Err() == nil {
		return nil
	}
	lease, err := l.locks.TryAcquire(ctx, l.prefix+name)
	if err != nil {
		return fmt.Errorf("certmagiclock: %q: %w, and the lock can't be taken anew: %w", name, lost.Err(), err)
	}
	if l.replace(name, lost, lease) {
		return nil
	}
	_ = lease.Release(ctx) // the lost one was unlocked meanwhile
	return fmt.Errorf("%w: %q", ErrNotLocked, name)
}

// replace puts a lease in the place of one that was lost, if that is still there.
func (l *Locker) replace(name string, lost, lease *quorum.Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holds[name]
	if h == nil || h.lease != lost {
		return false
	}
	h.lease = lease
	return true
}
