package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/wire"
)

// Report is what Verify found.
type Report struct {
	// Instances has one entry for each, in the Coordinator's order.
	Instances []InstanceReport
	// Notes are remarks on the set as a whole that are no errors.
	Notes []string
}

// InstanceReport is what Verify found of one instance.
type InstanceReport struct {
	Name     string
	Identity wire.Identity
	// Latency is how long the probe took.
	Latency time.Duration
	// ClockOffset is the server's clock minus this machine's wall clock, to within
	// ClockUncertainty. Both are zero if the server hides its clock.
	ClockOffset, ClockUncertainty time.Duration
	// RateLow and RateHigh bound the difference of the clocks' rates in millionths, as far as
	// the monitor knows it. Both are zero if it doesn't.
	RateLow, RateHigh int64
	// Quarantine says why the server may not vote yet, nil if it may.
	Quarantine *QuarantineError
	// Err joins what is wrong, nil if nothing is: ErrNotMaster, ErrEviction,
	// ErrDuplicate, ErrHidden, ErrQuarantined, ErrTimeout, or the instance's
	// own error.
	Err error
	// Notes are remarks that are no errors.
	Notes []string
}

// Verify asks every server who it is and how it is set up, and reports what is wrong:
// duplicates, replicas, a policy that evicts keys, a server that hides what the quarantine must
// know, a quarantine. Call it when a service starts.
//
// The Report is complete even if the error isn't nil. The error joins all of
// Report.Instances[i].Err as *InstanceError. Otherwise it is ErrInterrupted with ctx's error, or
// ErrClosed.
func (c *Coordinator) Verify(ctx context.Context) (Report, error) {
	if c.closed() {
		return Report{}, fmt.Errorf("%w (verify)", ErrClosed)
	}
	c.watch()
	report := Report{Instances: make([]InstanceReport, len(c.members))}
	c.probeAll(ctx, func(i int, r InstanceReport, _ error) { report.Instances[i] = r })
	if ctx.Err() != nil {
		return report, fmt.Errorf("%w: verify: %w", ErrInterrupted, causeOf(ctx))
	}
	if n := len(c.members); n%2 == 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d instances survive no more failures than %d do, and need one more grant", n, n-1))
	} else if n == 1 {
		report.Notes = append(report.Notes, "one instance has no redundancy: its failure is the lock's")
	}
	report.Notes = append(report.Notes, report.apart(c.cfg.ahead())...)
	return report, report.join()
}

// apart notes two servers whose clocks certainly differ by more than Fence.Ahead. Leases don't
// depend on that, but the order of tokens does: new and lost counters start from the clocks.
func (r Report) apart(most time.Duration) []string {
	var ahead, behind *InstanceReport // by what is certain
	for i := range r.Instances {
		inst := &r.Instances[i]
		if inst.ClockUncertainty == 0 {
			continue // its clock isn't known
		}
		if ahead == nil || inst.ClockOffset-inst.ClockUncertainty > ahead.ClockOffset-ahead.ClockUncertainty {
			ahead = inst
		}
		if behind == nil || inst.ClockOffset+inst.ClockUncertainty < behind.ClockOffset+behind.ClockUncertainty {
			behind = inst
		}
	}
	if ahead == nil {
		return nil
	}
	least := (ahead.ClockOffset - ahead.ClockUncertainty) - (behind.ClockOffset + behind.ClockUncertainty)
	if least <= most {
		return nil
	}
	return []string{fmt.Sprintf("the clock of %s is at least %v ahead of that of %s, more than half of MaxTTL (%v): a counter that starts from the one is refused by the other (ErrTokenRace), and after both lost their counters tokens could fall; set the clocks, with the servers stopped, and keep them by a time service",
		ahead.Name, least.Round(time.Millisecond), behind.Name, most)}
}

// probeAll probes every member on ctx, each under its own timeout. err says why a probe had no
// answer.
func (c *core) probeAll(ctx context.Context, done func(i int, r InstanceReport, err error)) {
	var group errgroup.Group
	for i, m := range c.members {
		group.Go(func() error {
			timeout := max(m.timeout, verifyTimeout)
			ctx, cancel := c.clock.WithTimeout(ctx, timeout)
			defer cancel()
			began := c.reader.Now()
			//guard:probes-in-turn  probes of a server take turns
			id, err := m.identify(ctx)
			if err != nil {
				err = hideTimeout(err, timeout)
			}
			r := m.report(id, err)
			r.Latency = drift.Elapsed(began, c.reader.Now())
			done(i, r, err)
			return nil
		})
	}
	_ = group.Wait() // no error is ever returned
}

// verifyTimeout is the least time that Verify and Trust give an instance, because at the start
// a connection has to be made.
const verifyTimeout = 2 * time.Second

func (r Report) join() error {
	var errs []error
	for _, inst := range r.Instances {
		if inst.Err != nil {
			errs = append(errs, &InstanceError{Instance: inst.Name, Op: wire.Probe, Err: inst.Err})
		}
	}
	return errors.Join(errs...)
}

// report makes the report on a probe of a member.
func (m *member) report(id wire.Identity, err error) InstanceReport {
	r := InstanceReport{Name: m.name, Identity: id}
	if err != nil {
		r.Err = err
		return r
	}
	now := m.reader.Now()
	m.mu.Lock()
	unfit, quarantined := m.unfit, quarantineError(m.quarantine.Check(now))
	r.ClockOffset, r.ClockUncertainty, _ = m.monitor.Offset(now)
	r.RateLow, r.RateHigh, _ = m.monitor.Rate()
	m.mu.Unlock()

	var errs []error
	if unfit == nil {
		unfit = roleError(id) // where restarts aren't watched
	}
	if unfit != nil {
		errs = append(errs, unfit)
	}
	if quarantined != nil {
		r.Quarantine = quarantined
		errs = append(errs, quarantined)
	}
	if id.Eviction != "" && id.Eviction != "noeviction" {
		errs = append(errs, fmt.Errorf("%w: its maxmemory-policy is %s; set noeviction", ErrEviction, id.Eviction))
	}
	if m.watchRestarts && unfit == nil && id.Run() == "" {
		errs = append(errs, fmt.Errorf("%w: its restarts and promotions, and counters that are older than tokens it gave, will not be noticed (%s); allow its user INFO, or turn RestartQuarantine off and restart servers only after MaxTTL", ErrHidden, strings.Join(id.Hidden, "; ")))
	}
	r.Err = errors.Join(errs...)
	r.Notes = m.notes(id)
	return r
}

// notes are remarks that an operator should know, and may have intended.
func (m *member) notes(id wire.Identity) []string {
	var notes []string
	if id.Persistence != "" && id.Persistence != "aof always" {
		notes = append(notes, fmt.Sprintf("persistence is %s: a restart may lose votes, and counters that tokens come from", id.Persistence))
	}
	if m.watchRestarts && id.Served < 0 && id.Run() != "" {
		notes = append(notes, "no mark can be kept on it: a client that starts will not notice that its name led to another server a moment ago; allow its user the key of the mark (instance.MarkKey)")
		if id.Promoted {
			notes = append(notes, "it was promoted, or took up an older server's history: a client that starts waits for MaxTTL before it counts its votes")
		}
	}
	notes = append(notes, id.Lacks...)
	for _, h := range id.Hidden {
		notes = append(notes, "hidden: "+h)
	}
	return notes
}

// Trust vouches for the present runs of the named instances, or of all if none is named: these
// servers have forgotten no vote, and their names have led to no other server within MaxTTL on
// whose vote a lease may still rest. It ends the quarantine of servers that have just been set
// up for the first time. A later restart begins another one. Trust has no effect on quarantines
// for clocks that jumped.
//
// It counts for this Coordinator alone, in memory. Don't leave it in code that runs at each
// start of a service: a process that starts after a server lost its data would vouch for that
// server, and the lock would have two holders. instance.Config.VouchedRunID names one run,
// counts only until that has lasted for a quarantine, and can stay.
//
// Errors: ErrConfig for an unknown name; the instances' failures as *InstanceError;
// ErrInterrupted with ctx's error; ErrClosed.
func (c *Coordinator) Trust(ctx context.Context, names ...string) error {
	if c.closed() {
		return fmt.Errorf("%w (trust)", ErrClosed)
	}
	chosen := make(map[string]bool, len(names))
	for _, name := range names {
		chosen[name] = true
	}
	var errs []error
	var mu sync.Mutex
	c.probeAll(ctx, func(i int, r InstanceReport, err error) {
		m := c.members[i]
		mu.Lock()
		defer mu.Unlock()
		if len(names) > 0 && !chosen[m.name] {
			return
		}
		delete(chosen, m.name)
		switch {
		case err != nil:
			errs = append(errs, &InstanceError{Instance: m.name, Op: wire.Probe, Err: err})
		case r.Identity.RunID != "" || r.Identity.ReplID != "":
			m.mu.Lock()
			m.quarantine.Trust(r.Identity)
			m.mu.Unlock()
		default:
			errs = append(errs, &InstanceError{Instance: m.name, Op: wire.Probe, Err: fmt.Errorf("%w: without its run ID and its replication ID it can't be vouched for", ErrHidden)})
		}
	})
	if ctx.Err() != nil {
		// They didn't answer because ctx has ended.
		errs = []error{fmt.Errorf("%w: trust: %w", ErrInterrupted, causeOf(ctx))}
	}
	for name := range chosen {
		errs = append(errs, fmt.Errorf("%w: Trust: there is no instance %q", ErrConfig, name))
	}
	return errors.Join(errs...)
}
