package once

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// The errors of Run, for errors.Is.
var (
	// ErrDone: the job of the slot was begun before, by another process or by this one. It also
	// Is quorum.ErrTaken.
	// Waiting doesn't help (quorum.Retryable).
	ErrDone error = &verdict{"once: the job of this slot was begun before: " + quorum.ErrTaken.Error(), quorum.ErrTaken, true}

	// ErrEarly: the slot's time has not come, by this process's clock.
	ErrEarly error = &verdict{"once: the slot has not begun", nil, false}

	// ErrLate: the slot's window is over, by this process's clock.
	ErrLate error = &verdict{"once: the slot's window is over", nil, true}
)

// verdict is an error that quorum.Retryable knows.
type verdict struct {
	text      string
	is        error
	permanent bool
}

func (v *verdict) Error() string   { return v.text }
func (v *verdict) Unwrap() error   { return v.is }
func (v *verdict) Permanent() bool { return v.permanent }

// MaxName is the longest name of a Job, in bytes: the slot's time follows it in the key.
const MaxName = 1024 - 31 // a key has 1024 bytes at most

// Config sets up a Job. The zero Config is ready to use. All processes must have the same one.
type Config struct {
	// Window is how late after its slot's time a job may be begun, by the clock of the process: 1
	// ms or more. A process that comes later, or was restarted, finds ErrLate. The window bounds
	// only the beginning of a job. Default: 10 s, or a third of the Coordinator's MaxTTL if that is
	// less. So set it where MaxTTL is below 30 s in some processes.
	Window time.Duration

	// Skew is the most by which the wall clocks of two processes may differ, 1 ms or more. If
	// they differ by more, a job may be begun twice. Default: 5 s, or a sixth of MaxTTL if that is
	// less.
	//
	// Window and Skew together, with twice the drift allowance on them, are the TTL of the keys.
	// So they are bounded by MaxTTL (see quorum.Terms.TTL). A job may take longer, because its
	// lease is kept alive.
	Skew time.Duration
}

// Job is a job that is due in several processes. It is safe for concurrent use, and has no
// goroutine of its own.
type Job struct {
	name   string
	window time.Duration
	locks  *quorum.Coordinator
}

// New makes a Job on a Coordinator. The name is 1 to MaxName bytes, without NUL and braces. Jobs
// of the same name on the same servers are one job. New asks no server. Of the Coordinator's
// terms, MaxLife bounds the job, and Note gets 9 bytes more; TTL, MaxTries and MaxWait don't apply.
//
// All errors are quorum.ErrConfig.
func New(locks *quorum.Coordinator, name string, cfg Config) (*Job, error) {
	if locks == nil {
		return nil, fmt.Errorf("%w: once: the Coordinator is nil; make one with quorum.New", quorum.ErrConfig)
	}
	if err := quorum.ValidateKey(name); err != nil {
		return nil, fmt.Errorf("once: the name: %w", err)
	}
	if len(name) > MaxName {
		return nil, fmt.Errorf("%w: once: the name has %d bytes, at most %d are allowed; use a hash of it", quorum.ErrConfig, len(name), MaxName)
	}
	of := locks.Config()
	// Processes must have the same values also while a longer MaxTTL is rolled out.
	if cfg.Window == 0 {
		cfg.Window = min(10*time.Second, of.MaxTTL/3)
	}
	if cfg.Skew == 0 {
		cfg.Skew = min(5*time.Second, of.MaxTTL/6)
	}
	if least := time.Millisecond; cfg.Window < least || cfg.Skew < least || cfg.Window > of.MaxTTL || cfg.Skew > of.MaxTTL {
		return nil, fmt.Errorf("%w: once: Window is %v and Skew %v, want 1ms or more each, and together less than MaxTTL, which is %v", quorum.ErrConfig, cfg.Window, cfg.Skew, of.MaxTTL)
	}
	// A key that is to live for a time by this clock needs the drift allowance on its TTL. Twice
	// that on the time is enough, because it is at most half of it.
	keep := cfg.Window + cfg.Skew
	//guard:slot-outlasts-window  a slot's keys live until no process begins its job any more
	ttl := (keep + 2*of.Drift.Of(keep) + time.Millisecond - 1).Truncate(time.Millisecond)
	view, err := locks.WithTerms(func(t *quorum.Terms) { t.TTL, t.MaxWait = ttl, 0 })
	if err != nil {
		return nil, fmt.Errorf("once: Window is %v and Skew %v, so the keys need a TTL of %v: %w", cfg.Window, cfg.Skew, ttl, err)
	}
	j := &Job{name: name, window: cfg.Window, locks: view}
	if _, _, err := j.views(make([]byte, signatureLength)); err != nil {
		return nil, fmt.Errorf("once: Terms.Note gets %d bytes more, by which a process knows its own keys: %w", 1+2*signatureLength, err)
	}
	return j, nil
}

// signatureLength is the length of a Run's signature, in bytes.
const signatureLength = 4

// views returns the Coordinator for the first try, and that for others. The locks that they take have the
// signature in their note. Most processes find the lock taken at their first try. The others may have split
// the votes, and try again.
func (j *Job) views(signature []byte) (first, again *quorum.Coordinator, err error) {
	tries := func(n int) func(t *quorum.Terms) {
		return func(t *quorum.Terms) {
			t.MaxTries, t.Note = n, strings.TrimLeft(fmt.Sprintf("%s %x", t.Note, signature), " ")
		}
	}
	if first, err = j.locks.WithTerms(tries(1)); err != nil {
		return nil, nil, err
	}
	again, err = j.locks.WithTerms(tries(4))
	return first, again, err
}

// Run runs work if no process has begun the slot's job. The slot is a time that all processes
// name alike, in any time zone. work's context ends with ctx or with the lease, whichever is
// first; the lease is kept alive while work runs.
//
// Run returns work's error. That Is also quorum.ErrLost or quorum.ErrClosed if the lease was over
// before work had ended; nobody else begins the job because of that. What work has begun counts
// as done, whatever it returns, and also if it panics. Only if work itself releases the lease
// (Lease.Release), another process may run the job within the window.
//
// If work wasn't run: ErrDone; ErrEarly; ErrLate, which also Is the error of the last try if
// there was one; quorum.ErrConfig for the zero time or no work; quorum.ErrInterrupted with ctx's
// error; and errors that waiting can't cure (see Coordinator.Acquire). While too few servers
// answer, or processes split the votes, Run tries again until the window is over.
func (j *Job) Run(ctx context.Context, slot time.Time, work func(ctx context.Context, lease *quorum.Lease) error) error {
	if work == nil {
		return fmt.Errorf("%w: once: %q: the function is nil; give Run the job", quorum.ErrConfig, j.name)
	}
	if slot.IsZero() {
		return fmt.Errorf("%w: once: %q: the slot is the zero time; give the time at which the job was due", quorum.ErrConfig, j.name)
	}
	slot = slot.Round(0).UTC() // processes differ in their time zones
	lease, err := j.acquire(ctx, slot)
	if err != nil {
		return err
	}
	//guard:slot-not-begun-late  a process that was paused on its way to the lock doesn't begin the job
	if err := j.inWindow(slot); err != nil {
		_ = lease.Release(ctx) // nothing was done, and others may still be in time
		return err
	}
	lease.KeepAlive()
	//guard:slot-stays-taken  the keys of a slot whose job was begun stay
	defer func() { _ = lease.Leave() }()
	err = work(lease.Within(ctx), lease)
	over := lease.Err()
	if errors.Is(over, quorum.ErrReleased) || errors.Is(over, quorum.ErrHandedOff) {
		return err // by work
	}
	return errors.Join(err, over)
}

// acquire gets the lock of the slot.
func (j *Job) acquire(ctx context.Context, slot time.Time) (*quorum.Lease, error) {
	key, of := j.name+"@"+slot.Format(time.RFC3339Nano), j.locks.Config()
	signature := make([]byte, signatureLength)
	if _, err := io.ReadFull(of.Random, signature); err != nil {
		return nil, fmt.Errorf("once: %q: Config.Random gave no randomness: %w", j.name, err)
	}
	view, again, err := j.views(signature)
	if err != nil {
		return nil, fmt.Errorf("once: %q: %w", j.name, err) // New has tried it
	}
	for last := error(nil); ; {
		if err := j.inWindow(slot); err != nil {
			if last != nil {
				err = fmt.Errorf("%w; last: %w", err, last)
			}
			return nil, err
		}
		lease, err := view.Acquire(ctx, key)
		if err == nil {
			return lease, nil
		}
		if !errors.Is(err, quorum.ErrExhausted) {
			return nil, fmt.Errorf("once: %q: %w", j.name, err)
		}
		// The votes don't say whether one process has the lock, or several have split them.
		//guard:own-keys-are-no-holder  what a lost round has left on the servers doesn't count as a holder
		if found, err := view.Inspect(ctx, key); err == nil && found.Held() != nil && found.Held().Note != view.Terms().Note {
			return nil, fmt.Errorf("%w (%q, by %q)", ErrDone, key, found.Held().Owner)
		}
		if view == again {
			// Else too few servers would be asked as often as if they were to answer soon.
			select {
			case <-of.Clock.After(min(of.BackoffMax, j.window/20)):
			case <-ctx.Done():
			}
		}
		view, last = again, err
	}
}

// inWindow reports whether the slot's job may be begun now.
func (j *Job) inWindow(slot time.Time) error {
	now := j.locks.Config().Clock.Now().Round(0)
	//guard:slot-not-begun-early  a job isn't begun before its slot's time, from which its keys' life counts
	if now.Before(slot) {
		return fmt.Errorf("%w: %q at %s begins in %v, by this clock; wait, and see to the time service if processes disagree", ErrEarly, j.name, slot.Format(time.RFC3339Nano), slot.Sub(now))
	}
	if late := now.Sub(slot); late >= j.window {
		return fmt.Errorf("%w: %q at %s began %v ago, by this clock, and Window is %v; raise it if jobs come that late", ErrLate, j.name, slot.Format(time.RFC3339Nano), late, j.window)
	}
	return nil
}

// Slots are the slots of a period: the multiples of the period since the zero time, in UTC, so
// that a period of an hour begins at full hours, and one of a week on Mondays. Each is yielded
// when its time comes, by the Coordinator's clock. The loop begins with the latest slot, if its window
// is open. It skips slots whose window is over: if the loop's body takes long, other processes may run
// the slots between. It ends when ctx ends.
//
// The period is a second to a year. Another one is quorum.ErrConfig.
func (j *Job) Slots(ctx context.Context, period time.Duration) (iter.Seq[time.Time], error) {
	const year = 365 * 24 * time.Hour
	if period < time.Second || period > year {
		return nil, fmt.Errorf("%w: once: %q: the period is %v, want %v to %v", quorum.ErrConfig, j.name, period, time.Second, year)
	}
	return func(yield func(time.Time) bool) {
		clock := j.locks.Config().Clock
		for last := (time.Time{}); ctx.Err() == nil; {
			now := clock.Now().Round(0).UTC()
			slot := now.Truncate(period)
			for !last.IsZero() && slot.Add(-period).After(last) && now.Sub(slot.Add(-period)) < j.window {
				slot = slot.Add(-period) // its window is open, too
			}
			if slot.After(last) && now.Sub(slot) < j.window {
				last = slot
				if !yield(slot) {
					return
				}
				continue
			}
			// In parts, because timers stand still while the machine is suspended, and the wall
			// clock may be set.
			select {
			case <-clock.After(min(slot.Add(period).Sub(now), j.window/2)):
			case <-ctx.Done():
			}
		}
	}, nil
}
