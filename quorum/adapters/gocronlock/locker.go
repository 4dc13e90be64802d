package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redquorum/redlock/quorum"
)

// ErrNotLocked is the error of a Task whose job this Locker has not locked.
var ErrNotLocked = errors.New("gocronlock: the job is not locked")

// Locker is a gocron.Locker, for gocron.WithDistributedLocker and WithDistributedJobLocker. It is
// safe for concurrent use.
type Locker struct {
	locks *quorum.Coordinator
	keep  time.Duration // how long after its beginning a run keeps the lock at least

	mu     sync.Mutex
	leases map[string]*quorum.Lease // by job: the latest
}

// NewLocker makes a Locker. No other process gets a job's lock for atLeast after a run has begun,
// even if it ends sooner.
//
// So atLeast must be longer than the time between the first and the last process that find the
// same run due: the difference of their clocks, and how late their schedulers are. And it must be
// less than half of the time between two runs, because up to twice as long may pass until the lock
// is free. Jobs that differ much need a Locker each (gocron.WithDistributedJobLocker). It is more than
// two of the Coordinator's InstanceTimeouts, and bounded by its MaxTTL: at most 28 s of 30 s, or 21 s
// if addresses may move (instance.Config.FixedAddress).
//
// Of the Coordinator's terms MaxLife applies: it bounds a job. The keys are the jobs' names, which
// are 1 to 1024 bytes, without NUL and braces. All errors are quorum.ErrConfig.
func NewLocker(locks *quorum.Coordinator, atLeast time.Duration) (*Locker, error) {
	if locks == nil {
		return nil, fmt.Errorf("%w: gocronlock: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)
	}
	of := locks.Config()
	if atLeast < time.Millisecond || atLeast > of.MaxTTL {
		return nil, fmt.Errorf("%w: gocronlock: atLeast is %v, want 1ms to less than MaxTTL, which is %v", quorum.ErrConfig, atLeast, of.MaxTTL)
	}
	// A process that asks atLeast after the first one waits for so long, and must not get the lock
	// at the end of that either.
	wait := min(max(atLeast/4, time.Millisecond), time.Second)
	keep := atLeast + wait
	// The servers' clocks may be faster. Twice the allowance is enough, because it is at most half.
	ttl := (keep + 2*of.Lab.Drift.Of(keep) + time.Millisecond - 1).Truncate(time.Millisecond)
	view, err := locks.WithTerms(func(t *quorum.Terms) {
		// A few tries, for processes that have split the votes.
		t.TTL, t.MaxTries, t.MaxWait, t.KeepAlive = ttl, 4, wait, true
	})
	if err != nil {
		return nil, fmt.Errorf("gocronlock: atLeast is %v, so the keys need a TTL of %v: %w", atLeast, ttl, err)
	}
	return &Locker{locks: view, keep: keep, leases: map[string]*quorum.Lease{}}, nil
}

// Lock takes a job's lock, or returns an error, with which gocron doesn't run the job now. It Is
// quorum.ErrTaken if another process runs the job or has just run it; the others are
// Coordinator.Acquire's. gocron.AfterLockError sees it. Lock returns within a second, because gocron
// doesn't plan the job's next run before.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	began := l.locks.Config().Lab.Clock.Now()
	lease, err := l.locks.Acquire(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("gocronlock: job %q: %w", job, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases[job] = lease
	return &held{l, lease, began}, nil
}

// Lease is the lease under which this process runs a job, nil if it doesn't.
func (l *Locker) Lease(job string) *quorum.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases[job]
}

// Task makes a function for gocron.NewTask. It calls run with the lease of its run, and a context
// that ends with gocron's and with the lease. The job must have the same name (gocron.WithName).
//
// The function returns run's error. That also Is quorum.ErrLost if the lease was over before run had
// ended: then run went on without the lock. It is ErrNotLocked, and run isn't called, if the job has
// another name or its scheduler doesn't use the Locker.
func (l *Locker) Task(job string, run func(ctx context.Context, lease *quorum.Lease) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		lease := l.Lease(job)
		if lease == nil {
			return fmt.Errorf("%w: %q: give the job this name (gocron.WithName), and its scheduler the Locker (gocron.WithDistributedLocker)", ErrNotLocked, job)
		}
		return errors.Join(run(lease.Within(ctx), lease), lease.Err())
	}
}

// held is a gocron.Lock.
type held struct {
	locker *Locker
	lease  *quorum.Lease
	began  time.Time
}

// Unlock frees the lock, or leaves it to expire if other processes may still ask for it. The error is
// that of Lease.Release or Lease.Leave; gocron ignores it, and Task returns what matters.
func (h *held) Unlock(ctx context.Context) error {
	h.locker.mu.Lock()
	if job := h.lease.Key(); h.locker.leases[job] == h.lease {
		delete(h.locker.leases, job)
	}
	h.locker.mu.Unlock()
	if h.locker.locks.Config().Lab.Clock.Since(h.began) < h.locker.keep {
		return h.lease.Leave()
	}
	return h.lease.Release(ctx)
}
