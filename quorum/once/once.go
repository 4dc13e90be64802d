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
	// ErrDone: the job of the slot was begun before, by another process or by this one, or a process
	// crashed or was cut off just before that. It also Is quorum.ErrTaken.
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

// MaxWindow is the longest Config.Window, and MaxSkew the longest Config.Skew.
const (
	MaxWindow = 24 * time.Hour
	MaxSkew   = time.Hour
)

// Config sets up a Job. The zero Config is ready to use. Processes may have different Configs, as
// they do while a new one is rolled out.
type Config struct {
	// Window is how late after its slot's time a job may be begun, by the clock of the process: 1
	// ms to MaxWindow. A process that comes later gets ErrLate. The window bounds only the
	// beginning of a job. A majority of servers that restarted doesn't vote for MaxTTL, so a
	// window that is longer than that, as the default is, outlasts a restart. Default: 5 minutes,
	// or four times the Coordinator's MaxTTL if that is more, up to MaxWindow.
	Window time.Duration

	// Skew is the most by which the wall clocks of processes and servers may differ, 1 ms to
	// MaxSkew. If they differ by more, a server's restart may cause a job to begin twice. A
	// server isn't counted for slots up to Skew after its start. Default: 5 s.
	Skew time.Duration
}

// Job is a job that is due in several processes. It is safe for concurrent use, and has no
// goroutine of its own.
type Job struct {
	name         string
	window, skew time.Duration
	keep         time.Duration // how long the keys of a slot stay when its job was begun
	locks        *quorum.Coordinator
}

// none reports whether New didn't make the Job.
func (j *Job) none() bool { return j == nil || j.locks == nil }

var errNoJob = fmt.Errorf("%w: once: the Job is nil, or was not made by New; look at the error that came instead of it", quorum.ErrConfig)

// New makes a Job on a Coordinator. The name is 1 to MaxName bytes, without NUL and braces. Jobs
// of the same name on the same servers are one job. New asks no server. Of the Coordinator's
// terms, MaxLife bounds the job, and Note grows by 9 bytes; MaxTries and MaxWait don't apply.
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
	if cfg.Window == 0 {
		cfg.Window = min(max(5*time.Minute, 4*of.MaxTTL), MaxWindow)
	}
	if cfg.Skew == 0 {
		cfg.Skew = 5 * time.Second
	}
	if least := time.Millisecond; cfg.Window < least || cfg.Window > MaxWindow || cfg.Skew < least || cfg.Skew > MaxSkew {
		return nil, fmt.Errorf("%w: once: Window is %v and Skew %v, want %v to %v and %v to %v", quorum.ErrConfig, cfg.Window, cfg.Skew, least, MaxWindow, least, MaxSkew)
	}
	// The same in all processes, whatever their Windows are, so that these can be changed. While
	// any window may be open the keys have more than a MaxTTL left, by which they are known (begun).
	// A key that is to live for a time by this clock needs the drift allowance on its TTL. Twice
	// that on the time is enough, because it is at most half of it.
	//guard:slot-outlasts-window  the keys of a slot whose job was begun live until no process begins it any more
	keep := MaxWindow + MaxSkew + of.MaxTTL
	keep = (keep + 2*of.Lab.Drift.Of(keep) + time.Millisecond).Truncate(time.Millisecond)
	j := &Job{name: name, window: cfg.Window, skew: cfg.Skew, keep: keep, locks: locks}
	if _, err := j.view(make([]byte, signatureLength)); err != nil {
		return nil, fmt.Errorf("once: %d bytes are added to Config.Note, by which a process knows its own keys: %w", 1+2*signatureLength, err)
	}
	return j, nil
}

// signatureLength is the length of a Run's signature, in bytes.
const signatureLength = 4

// view returns the Coordinator whose locks have the signature in their note. A few tries are for processes that
// have split the votes.
func (j *Job) view(signature []byte) (*quorum.Coordinator, error) {
	return j.locks.WithTerms(func(t *quorum.Terms) {
		t.MaxWait, t.MaxTries, t.Note = 0, 4, strings.TrimLeft(fmt.Sprintf("%s %x", t.Note, signature), " ")
	})
}

// Run runs work if no process has begun the slot's job. The slot is a time that is the same for
// all processes, in any time zone. work's context ends with ctx or with the lease, whichever is
// first; the lease is kept alive while work runs.
//
// Run returns work's error. That Is also quorum.ErrLost or quorum.ErrClosed if the lease was over
// before work had ended; even then, no other process begins the job. What work has begun counts
// as done, whatever it returns, and also if it panics. Another process may run the job within the
// window only if work itself releases the lease (Lease.Release) or hands it off (Lease.HandOff).
//
// If work wasn't run: ErrDone; ErrEarly; ErrLate, which also Is the error of the last try if
// there was one; quorum.ErrConfig for the zero time or no work; quorum.ErrInterrupted with ctx's
// error; and errors that waiting can't cure (see Coordinator.Acquire). While too few servers
// answer, or processes split the votes, Run tries again until the window is over.
func (j *Job) Run(ctx context.Context, slot time.Time, work func(ctx context.Context, lease *quorum.Lease) error) error {
	if j.none() {
		return errNoJob
	}
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
	lease.KeepAlive()
	defer func() { _ = lease.Leave() }()
	err = work(lease.Within(ctx), lease)
	over := lease.Err()
	if errors.Is(over, quorum.ErrReleased) || errors.Is(over, quorum.ErrHandedOff) {
		return err // by work
	}
	return errors.Join(err, over)
}

// acquire gets the lock of the slot, with keys that stay.
func (j *Job) acquire(ctx context.Context, slot time.Time) (*quorum.Lease, error) {
	key, of := j.name+"@"+slot.Format(time.RFC3339Nano), j.locks.Config()
	signature := make([]byte, signatureLength)
	if _, err := io.ReadFull(of.Lab.Random, signature); err != nil {
		return nil, fmt.Errorf("once: %q: Config.Lab.Random gave no randomness: %w", j.name, err)
	}
	view, err := j.view(signature)
	if err != nil {
		return nil, fmt.Errorf("once: %q: %w", j.name, err) // New has tried it
	}
	acquire := view.TryAcquire // most processes find the lock taken, and wait for nothing
	for last := error(nil); ; {
		if err := j.inWindow(slot); err != nil {
			if last != nil {
				err = fmt.Errorf("%w; last: %w", err, last)
			}
			return nil, err
		}
		lease, err := acquire(ctx, key)
		if err == nil {
			if err = j.keepSlot(ctx, view, lease, slot); err == nil {
				return lease, nil
			}
			_ = lease.Release(ctx) // nothing was done, and others may still be in time
			if end := (*verdict)(nil); errors.As(err, &end) {
				return nil, err
			}
		} else if !quorum.Retryable(err) {
			return nil, fmt.Errorf("once: %q: %w", j.name, err)
		} else {
			found, _ := view.Inspect(ctx, key)
			if kept := j.begun(view, found, slot); errors.Is(kept, ErrDone) {
				return nil, kept
			} else if kept != nil {
				err = kept
			}
		}
		if last != nil {
			// Else too few servers would be asked as often as if they were to answer soon.
			select {
			case <-of.Lab.Clock.After(min(of.Lab.BackoffMax, j.window/20)):
			case <-ctx.Done():
			}
		}
		acquire, last = view.Acquire, err
	}
}

// keepSlot has the keys of a lease stay, if nobody has begun the slot's job. Nil means that this
// process begins it.
//
// Leases have processes come here one after the other. One that was here before has left its keys on a
// quorum. So they are on one of each quorum, unless that has lost data since, and so is younger than the
// slot: then too few voted that know the slot, or the key is found on another server. If so many are
// younger that a quorum of others can't be, the slot is given up to a second process rather than lost.
func (j *Job) keepSlot(ctx context.Context, view *quorum.Coordinator, lease *quorum.Lease, slot time.Time) error {
	found, err := view.Inspect(ctx, lease.Key())
	//guard:slot-known-anywhere  a job isn't begun if any server has the keys that another process left to begin it
	if kept := j.begun(view, found, slot); kept != nil {
		return kept
	}
	if err != nil {
		return fmt.Errorf("once: %q: %w", j.name, err)
	}
	old, young := 0, 0
	for i, b := range found.Votes {
		switch {
		case b.Vote.Err != nil:
		case j.young(found, i, slot):
			young++
		case b.Vote.Holder == lease.Value():
			old++
		}
	}
	//guard:slot-needs-old-servers  a job is begun by the votes of a quorum that knows the slot, unless there can be none
	if old < found.Quorum && young <= len(found.Votes)-found.Quorum {
		return fmt.Errorf("%w: once: %q: %d of %d servers may have come up after the slot's time, and may have forgotten that its job was begun; %d others voted, and %d are needed", quorum.ErrNoQuorum, j.name, young, len(found.Votes), old, found.Quorum)
	}
	//guard:slot-kept-first  the keys of a slot stay before its job is begun
	if err := lease.Keep(ctx, j.keep); err != nil {
		return fmt.Errorf("once: %q: %w", j.name, err)
	}
	//guard:slot-not-begun-late  a process that was paused on its way to the lock doesn't begin the job
	return j.inWindow(slot)
}

// begun is ErrDone if another process may have begun the job: it has left keys that live for longer than those
// of any lease, and a quorum may have them. If certainly none has, the error is ErrTaken: that process is
// about to begin, or deletes its keys when it can reach the servers, unless it has died.
func (j *Job) begun(view *quorum.Coordinator, found quorum.Inspection, slot time.Time) (err error) {
	for _, h := range found.Holders {
		kept, lost := 0, 0
		for i, b := range found.Votes {
			switch {
			// A lost round of this process may have left keys with its note. They are no holder's.
			case b.Vote.Remaining > view.Config().MaxTTL && b.Vote.Holder == h.Value && h.Note != view.Terms().Note:
				kept++
			case b.Vote.Err != nil || j.young(found, i, slot):
				lost++ // or may have been
			}
		}
		switch {
		case kept == 0:
		case kept+lost >= found.Quorum:
			return fmt.Errorf("%w (%q, by %q)", ErrDone, found.Key, h.Owner)
		default:
			err = fmt.Errorf("%w: once: %q: %q has left its keys on %d of %d servers, too few to begin the job; it deletes them when it can reach the servers, unless it has died", quorum.ErrTaken, found.Key, h.Owner, kept, len(found.Votes))
		}
	}
	return err
}

// young reports whether a server may have come up after the slot's time.
func (j *Job) young(found quorum.Inspection, i int, slot time.Time) bool {
	since := found.Runs[i].Since()
	if since.IsZero() {
		return true
	}
	return since.Add(j.skew).After(slot)
}

// inWindow reports whether the slot's job may be begun now.
func (j *Job) inWindow(slot time.Time) error {
	now := j.locks.Config().Lab.Clock.Now().Round(0)
	// The keys' life counts from the slot's time.
	if now.Before(slot) {
		return fmt.Errorf("%w: %q at %s begins in %v, by this machine's clock; wait, and check the time service if processes disagree", ErrEarly, j.name, slot.Format(time.RFC3339Nano), slot.Sub(now))
	}
	if late := now.Sub(slot); late >= j.window {
		return fmt.Errorf("%w: %q at %s began %v ago, by this machine's clock, and Window is %v; if jobs may begin that late, raise Window (redlockctl: -window), in one process after another", ErrLate, j.name, slot.Format(time.RFC3339Nano), late, j.window)
	}
	return nil
}

// Slots are the slots of a period: the multiples of the period since the zero time, in UTC, so
// that a period of an hour begins at full hours, and one of a week on Mondays. Each is yielded
// when its time comes, by the Coordinator's clock. The loop begins with the latest slot, if its window
// is open. It skips slots whose window is over: if the loop's body takes a long time, other
// processes may run the slots in between. It ends when ctx ends.
//
// The period is a second to a year. For any other, the error is quorum.ErrConfig.
func (j *Job) Slots(ctx context.Context, period time.Duration) (iter.Seq[time.Time], error) {
	if j.none() {
		return nil, errNoJob
	}
	const year = 365 * 24 * time.Hour
	if period < time.Second || period > year {
		return nil, fmt.Errorf("%w: once: %q: the period is %v, want %v to %v", quorum.ErrConfig, j.name, period, time.Second, year)
	}
	return func(yield func(time.Time) bool) {
		clock := j.locks.Config().Lab.Clock
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
