package quorumotel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redquorum/redlock/quorum"
)

// meter keeps the metrics.
type meter struct {
	base []attribute.KeyValue // on everything; never appended to in place

	rounds, votes, waits, quarantines, jumps, unprotected, cannotNotify, released, lost metric.Int64Counter
	roundDuration, voteDuration, waitDuration, hold                                     metric.Float64Histogram

	waiters   metric.Int64UpDownCounter
	waitTries metric.Int64Histogram
}

// Bounds of the histograms' buckets in seconds. Servers answer in fractions of a
// millisecond, and locks are held for as long as work takes.
var (
	answerBuckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	waitBuckets   = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300}
	triesBuckets  = []float64{1, 2, 3, 5, 10, 20, 50, 100}
	holdBuckets   = []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600}
)

func newMeter(cfg Config) (*meter, error) {
	m := &meter{base: slices.Clip(slices.Clone(cfg.Attributes))}
	in := cfg.MeterProvider.Meter(scope)
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := in.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	histogram := func(name, text string, buckets []float64) metric.Float64Histogram {
		h, err := in.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	m.rounds = counter("redlock.rounds", "{round}", "Rounds to acquire or extend a lock, by how they ended.")
	m.roundDuration = histogram("redlock.round.duration", "Time from a round's start to its decision.", answerBuckets)
	m.votes = counter("redlock.instance.votes", "{vote}", "Votes of an instance in rounds.")
	m.voteDuration = histogram("redlock.instance.vote.duration", "Time from sending a request to an instance's answer, where that came before the round's decision.", answerBuckets)
	m.waits = counter("redlock.waits", "{wait}", "Calls of Acquire that have ended, by how.")
	m.waitDuration = histogram("redlock.wait.duration", "Time from the call of Acquire to its end.", waitBuckets)
	m.quarantines = counter("redlock.instance.quarantines", "{quarantine}", "Times that an instance was kept from voting.")
	m.jumps = counter("redlock.instance.clock.jumps", "{jump}", "Steps of an instance's clock.")
	m.unprotected = counter("redlock.instance.unprotected", "{event}", "Times that an instance was found to hide its restarts, or to have a policy that evicts locks. It votes nevertheless.")
	m.cannotNotify = counter("redlock.instance.cannot_notify", "{event}", "Times that an instance was found unable to notify those who wait for a lock, who poll instead.")
	m.released = counter("redlock.leases.released", "{lease}", "Leases that were released, handed off or left to expire.")
	m.lost = counter("redlock.leases.lost", "{lease}", "Leases that ended without a release.")
	m.hold = histogram("redlock.lease.hold.duration", "Time from a lease's acquisition to its end.", holdBuckets)
	var waiters, tries error
	m.waiters, waiters = in.Int64UpDownCounter("redlock.waiters", metric.WithUnit("{goroutine}"), metric.WithDescription("Goroutines in Acquire now."))
	m.waitTries, tries = in.Int64Histogram("redlock.wait.tries", metric.WithUnit("{try}"), metric.WithDescription("Tries of an Acquire."), metric.WithExplicitBucketBoundaries(triesBuckets...))
	if err := errors.Join(append(errs, waiters, tries)...); err != nil {
		return nil, fmt.Errorf("quorumotel: making the instruments: %w", err)
	}
	// From the start, so that this series counts the processes: see docs/running.md.
	m.waiters.Add(context.Background(), 0, m.attrs())
	return m, nil
}

func (m *meter) hooks() quorum.Hooks {
	return quorum.Hooks{
		RoundDecided: m.roundDecided,
		WaitStarted:  func(ctx context.Context, _ quorum.WaitStart) { m.waiters.Add(ctx, 1, m.attrs()) },
		WaitEnded:    m.waitEnded,
		Released:     m.leaseReleased,
		Lost:         m.leaseLost,
		Quarantined:  m.quarantined,
		ClockJumped:  m.clockJumped,
		Unprotected:  func(e quorum.UnprotectedEvent) { m.countAt(m.unprotected, e.Instance) },
		CannotNotify: func(e quorum.CannotNotifyEvent) { m.countAt(m.cannotNotify, e.Instance) },
	}
}

// attrs is base and more, as an option for every instrument.
func (m *meter) attrs(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(m.base, more...)...))
}

func (m *meter) roundDecided(ctx context.Context, e quorum.RoundEnd) {
	attrs := m.attrs(roundResult(e.Err).attrs(operation(e.Op))...)
	m.rounds.Add(ctx, 1, attrs)
	m.roundDuration.Record(ctx, e.Took.Seconds(), attrs)
	for _, b := range e.Ballots {
		attrs := m.attrs(voteResult(b.Vote).attrs(operation(e.Op), instance(b.Instance))...)
		m.votes.Add(ctx, 1, attrs)
		// 0 is the latency of an instance that was not asked, or has not answered yet.
		if b.Latency > 0 {
			m.voteDuration.Record(ctx, b.Latency.Seconds(), attrs)
		}
	}
}

func (m *meter) waitEnded(ctx context.Context, e quorum.WaitEnd) {
	m.waiters.Add(ctx, -1, m.attrs())
	attrs := m.attrs(waitResult(e.Err).attrs(holder(e))...)
	m.waits.Add(ctx, 1, attrs)
	m.waitDuration.Record(ctx, e.Waited.Seconds(), attrs)
	m.waitTries.Record(ctx, int64(e.Tries), attrs)
}

func (m *meter) leaseReleased(ctx context.Context, e quorum.LeaseEvent) {
	var how result
	if e.Err != nil && !errors.Is(e.Err, quorum.ErrHandedOff) {
		how.errorType = nameOf(verdictOf(e.Err))
	}
	m.released.Add(ctx, 1, m.attrs(how.attrs()...))
	// The hold of a lease that ended before its release was measured when it was lost.
	if e.Validity > 0 {
		m.hold.Record(ctx, e.Held.Seconds(), m.attrs(result{outcome: "released"}.attrs()...))
	}
}

func (m *meter) leaseLost(e quorum.LeaseEvent) {
	ctx := context.Background()
	m.lost.Add(ctx, 1, m.attrs(result{errorType: nameOf(verdictOf(e.Err))}.attrs()...))
	m.hold.Record(ctx, e.Held.Seconds(), m.attrs(result{outcome: "lost"}.attrs()...))
}

func (m *meter) quarantined(e quorum.QuarantineEvent) {
	reason := otherError
	if e.Err != nil {
		reason = strings.ReplaceAll(e.Err.Reason.String(), " ", "_")
	}
	m.countAt(m.quarantines, e.Instance, attribute.String("redlock.reason", reason))
}

func (m *meter) clockJumped(e quorum.ClockEvent) {
	direction := "forward"
	if e.Jump.By < 0 {
		direction = "back"
	}
	m.countAt(m.jumps, e.Instance, attribute.String("redlock.direction", direction))
}

func (m *meter) countAt(what metric.Int64Counter, name string, more ...attribute.KeyValue) {
	what.Add(context.Background(), 1, m.attrs(append(more, instance(name))...))
}
