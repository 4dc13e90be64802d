package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

// String is what was found, for a log.
func (r Report) String() string {
	var found []string
	for _, one := range r.Instances {
		if one.Err != nil {
			found = append(found, one.Name+": "+Redact(one.Err.Error()))
		}
		for _, note := range one.Notes {
			found = append(found, one.Name+": "+note)
		}
	}
	return strings.Join(append(found, r.Notes...), "\n")
}

// InstanceReport is what Verify found of one instance.
type InstanceReport struct {
	Name     string
	Identity wire.Identity
	// Latency is how long the probe took, with the wait for earlier probes of the server.
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
// know or takes no writes, a quarantine. Call it when a service starts.
//
// The Report is complete even if the error isn't nil. The error joins all of
// Report.Instances[i].Err as *InstanceError. Otherwise it is ErrInterrupted with ctx's error, or
// ErrClosed.
func (c *Coordinator) Verify(ctx context.Context) (Report, error) {
	if err := c.none(); err != nil {
		return Report{}, err
	}
	if c.closed() {
		return Report{}, fmt.Errorf("%w (verify)", ErrClosed)
	}
	c.clockMonitor.start()
	var report Report
	report.Instances, _ = c.probeAll(ctx, c.servers)
	if ctx.Err() != nil {
		return report, fmt.Errorf("%w: verify: %w", ErrInterrupted, causeOf(ctx))
	}
	report.Notes = remarksOnAll(report.Instances, c.cfg.ahead())
	return report, report.join()
}

// probeAll probes servers on ctx, each under its own timeout. unanswered says why a probe had no answer.
func (c *core) probeAll(ctx context.Context, servers []*server) (reports []InstanceReport, unanswered []error) {
	reports, unanswered = make([]InstanceReport, len(servers)), make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			timeout := max(s.cfg.InstanceTimeout, verifyTimeout)
			var id wire.Identity
			err := s.connect(ctx)
			own, cancel := c.clock.WithTimeout(ctx, timeout)
			defer cancel()
			began := c.reader.Now()
			if err == nil {
				var p *probe
				if p, err = s.identify(own, timeout, true); err == nil {
					id, err = p.id, p.err
				}
			}
			switch {
			case err != nil && ctx.Err() != nil:
				err = interrupted(ctx)
			case err != nil:
				err = s.hideTimeout(err, timeout)
			}
			r := s.report(id, err)
			r.Latency = drift.Elapsed(began, c.reader.Now())
			reports[i], unanswered[i] = r, err
		})
	}
	all.Wait()
	return reports, unanswered
}

func (r Report) join() error {
	var errs []error
	for _, inst := range r.Instances {
		if inst.Err != nil {
			errs = append(errs, &InstanceError{Instance: inst.Name, Op: wire.Probe, Err: inst.Err})
		}
	}
	return errors.Join(errs...)
}

// report makes the report on a probe.
func (s *server) report(id wire.Identity, err error) InstanceReport {
	r := InstanceReport{Name: s.name, Identity: id}
	if err != nil {
		r.Err, r.Notes = err, s.remarkOnDistance()
		return r
	}
	now := s.reader.Now()
	s.mu.Lock()
	unfit, quarantined := s.unfit, quarantineError(s.quarantine.Check(now))
	r.ClockOffset, r.ClockUncertainty, _ = s.monitor.Offset(now)
	r.RateLow, r.RateHigh, _ = s.monitor.Rate()
	s.mu.Unlock()

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
	if evicts(id) {
		errs = append(errs, fmt.Errorf("%w: its maxmemory-policy is %s; set noeviction", ErrEviction, id.Eviction))
	}
	if s.watchesRestarts() && unfit == nil && id.Run() == "" {
		errs = append(errs, fmt.Errorf("%w: its restarts and promotions, and counters that are older than tokens it gave, will not be noticed (%s); allow its user INFO, or turn RestartQuarantine off and restart servers only after MaxTTL", ErrHidden, strings.Join(id.Hidden, "; ")))
	}
	if id.Refuses != nil {
		errs = append(errs, fmt.Errorf("it refuses votes now: %w", id.Refuses))
	}
	r.Err = errors.Join(errs...)
	r.Notes = append(s.remarkOnDistance(), remarksOn(id, s.watchesRestarts())...)
	return r
}

// remarkOnDistance notes that the server is too far away for the timeout.
func (s *server) remarkOnDistance() []string {
	if far := s.tooFar(s.cfg.InstanceTimeout); far != "" {
		return []string{far}
	}
	return nil
}

// Trust vouches for the present runs of the named instances, or of all if none is named: these
// servers have forgotten no vote, and within MaxTTL their names have led to no other server on
// whose vote a lease may still rest. It ends the quarantine of servers that have just been set up
// for the first time. A later restart begins another one. Trust has no effect on quarantines for
// clocks that jumped.
//
// It counts for this Coordinator alone, in memory. Don't leave it in code that runs at each
// start of a service: a process that starts after a server lost its data would vouch for that
// server, and the lock would have two holders. A setting of instance.Config.VouchedRunID can
// stay: it names one run, and has no effect once that run has lasted for a quarantine.
//
// Errors: ErrConfig for an unknown name, before any instance is asked; the failures of the named
// instances as *InstanceError, among them ErrInterrupted with ctx's error, ErrNotMaster, ErrDuplicate,
// ErrHidden, and ErrOtherRun if the server was found in another run meanwhile; ErrClosed.
func (c *Coordinator) Trust(ctx context.Context, names ...string) error {
	if err := c.none(); err != nil {
		return err
	}
	if c.closed() {
		return fmt.Errorf("%w (trust)", ErrClosed)
	}
	chosen := c.servers
	if len(names) > 0 {
		chosen = make([]*server, len(names))
		for i, name := range names {
			at := slices.IndexFunc(c.servers, func(s *server) bool { return s.name == name })
			if at < 0 {
				return fmt.Errorf("%w: Trust: there is no instance %q", ErrConfig, name)
			}
			chosen[i] = c.servers[at]
		}
	}
	var errs []error
	reports, unanswered := c.probeAll(ctx, chosen)
	for i, s := range chosen {
		id, err := reports[i].Identity, unanswered[i]
		switch {
		case err != nil:
		case id.RunID == "" && id.ReplID == "":
			err = fmt.Errorf("%w: without its run ID and its replication ID it can't be vouched for", ErrHidden)
		default:
			err = s.trust(id)
		}
		if err != nil {
			errs = append(errs, &InstanceError{Instance: s.name, Op: wire.Probe, Err: err})
		}
	}
	return errors.Join(errs...)
}

// trust vouches for a run that a probe has found.
func (s *server) trust(id wire.Identity) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unfit != nil {
		return s.unfit
	}
	if s.watchesRestarts() && !s.quarantine.Trust(id) {
		return fmt.Errorf("%w since this probe: look at it, and call Trust again if you vouch for its new run", ErrOtherRun)
	}
	return nil
}

// remarksOn says what an operator should know of how a server is set up, and may have intended.
// watched says that restarts are watched.
func remarksOn(id wire.Identity, watched bool) []string {
	var notes []string
	switch {
	case id.InProcess:
		notes = append(notes, "it runs inside this process: no other process sees these locks, and they end with it")
	case id.Persistence != "" && id.Persistence != "aof always":
		note := fmt.Sprintf("persistence is %s: a restart may lose votes, and counters that tokens come from", id.Persistence)
		if watched && id.Run() != "" {
			note += "; clients ignore its votes for MaxTTL then, so no lock is given out twice"
		}
		notes = append(notes, note)
	}
	if id.Deployment != "" {
		notes = append(notes, fmt.Sprintf("it is a deployment (%s): its votes don't count for MaxTTL after each failover", id.Deployment))
	}
	if watched && id.Served < 0 && id.Run() != "" {
		notes = append(notes, "no mark can be kept on it: a client that starts will not notice that its name led to another server a moment ago; allow its user the key of the mark (instance.MarkKey)")
		if id.Promoted {
			notes = append(notes, "it was promoted, or resumed an older server's history: a client that starts waits for MaxTTL before it counts its votes")
		}
	}
	for _, h := range id.Hidden {
		notes = append(notes, "hidden: "+h)
	}
	return notes
}

// remarksOnAll remarks on all servers together: on their number, and on two whose clocks certainly
// differ by more than Fence.Ahead. Leases don't depend on that, but the order of tokens does: new and
// lost counters start from the clocks.
func remarksOnAll(all []InstanceReport, ahead time.Duration) []string {
	var notes []string
	if n := len(all); n%2 == 0 {
		notes = append(notes, fmt.Sprintf("%d instances survive no more failures than %d do, and need one more grant", n, n-1))
	} else if n == 1 && !all[0].Identity.InProcess {
		note := "one instance has no redundancy: if it fails, so does the lock"
		if all[0].Identity.Deployment != "" {
			note = "one deployment has no majority beside it: after each failover nobody gets a lock for MaxTTL"
		}
		notes = append(notes, note)
	}
	known := slices.DeleteFunc(slices.Clone(all), func(r InstanceReport) bool { return r.ClockUncertainty == 0 })
	if len(known) == 0 {
		return notes
	}
	least := func(r InstanceReport) time.Duration { return r.ClockOffset - r.ClockUncertainty }
	most := func(r InstanceReport) time.Duration { return r.ClockOffset + r.ClockUncertainty }
	first := slices.MaxFunc(known, func(a, b InstanceReport) int { return cmp.Compare(least(a), least(b)) })
	last := slices.MinFunc(known, func(a, b InstanceReport) int { return cmp.Compare(most(a), most(b)) })
	apart := least(first) - most(last)
	if apart <= ahead {
		return notes
	}
	return append(notes, fmt.Sprintf("the clock of %s is at least %v ahead of that of %s, more than half of MaxTTL (%v): a counter that starts from the clock ahead is refused by the server behind (ErrUnsettled), and if both lose their counters, tokens could fall; stop the servers, set their clocks, and run a time service",
		first.Name, apart.Round(time.Millisecond), last.Name, ahead))
}
