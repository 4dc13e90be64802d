package quorumotel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redquorum/redlock/quorum"
)

// meter keeps the metrics.
type meter struct {
	base    []attribute.KeyValue // on everything; never appended to in place
	withKey bool
	leases  *leases

	rounds        metric.Int64Counter
	roundDuration metric.Float64Histogram
	votes         metric.Int64Counter
	voteDuration  metric.Float64Histogram
	waiters       metric.Int64UpDownCounter
	waits         metric.Int64Counter
	waitDuration  metric.Float64Histogram
	waitTries     metric.Int64Histogram
	quarantines   metric.Int64Counter
	jumps         metric.Int64Counter
	unprotected   metric.Int64Counter
	cannotNotify  metric.Int64Counter
	released      metric.Int64Counter
	lost          metric.Int64Counter
	hold          metric.Float64Histogram
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
	m := &meter{base: slices.Clip(slices.Clone(cfg.Attributes)), withKey: cfg.KeyOnMetrics, leases: newLeases()}
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
	var err error
	m.waiters, err = in.Int64UpDownCounter("redlock.waiters", metric.WithUnit("{goroutine}"), metric.WithDescription("Goroutines in Acquire now."))
	errs = append(errs, err)
	m.waitTries, err = in.Int64Histogram("redlock.wait.tries", metric.WithUnit("{try}"), metric.WithDescription("Tries of an Acquire."), metric.WithExplicitBucketBoundaries(triesBuckets...))
	errs = append(errs, err)
	m.quarantines = counter("redlock.instance.quarantines", "{quarantine}", "Times that an instance was kept from voting.")
	m.jumps = counter("redlock.instance.clock.jumps", "{jump}", "Steps of an instance's clock.")
	m.unprotected = counter("redlock.instance.unprotected", "{event}", "Times that an instance was found to hide its restarts, or to have a policy that evicts locks. It votes nevertheless.")
	m.cannotNotify = counter("redlock.instance.cannot_notify", "{event}", "Times that an instance was found unable to call those who wait for a lock, who poll instead.")
	m.released = counter("redlock.leases.released", "{lease}", "Leases that were released, handed off or left to expire.")
	m.lost = counter("redlock.leases.lost", "{lease}", "Leases that ended without a release.")
	m.hold = histogram("redlock.lease.hold.duration", "Time from a lease's acquisition to its end.", holdBuckets)
	held, err := in.Int64ObservableUpDownCounter("redlock.leases.held", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases that are held and valid now."))
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("quorumotel: making the instruments: %w", err)
	}
	// Registered, and not given to the instrument as an option: of several
	// Coordinators on one MeterProvider only the first one's would be called.
	_, err = in.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.observeHeld(func(n int64, attrs metric.MeasurementOption) { o.ObserveInt64(held, n, attrs) })
		return nil
	}, held)
	if err != nil {
		return nil, fmt.Errorf("quorumotel: registering the callback for redlock.leases.held: %w", err)
	}
	return m, nil
}

func (m *meter) hooks() quorum.Hooks {
	return quorum.Hooks{
		RoundDecided: m.roundDecided,
		WaitStarted:  m.waitStarted,
		WaitEnded:    m.waitEnded,
		Acquired:     func(_ context.Context, e quorum.LeaseEvent) { m.leases.hold(e, time.Now()) },
		Extended:     func(_ context.Context, e quorum.LeaseEvent) { m.leases.hold(e, time.Now()) },
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

// keyed appends the lock's key where that is wanted.
func (m *meter) keyed(attrs []attribute.KeyValue, key string) []attribute.KeyValue {
	if !m.withKey {
		return attrs
	}
	return append(attrs, keyKey.String(valid(key)))
}

func (m *meter) roundDecided(ctx context.Context, e quorum.RoundEnd) {
	operation := keyOperation.String(e.Op.String())
	outcome, errorType := roundOutcome(e.Err)
	attrs := m.attrs(m.keyed(withError([]attribute.KeyValue{operation, keyOutcome.String(outcome)}, errorType), e.Key)...)
	m.rounds.Add(ctx, 1, attrs)
	m.roundDuration.Record(ctx, e.Took.Seconds(), attrs)

	for _, b := range e.Ballots {
		outcome, errorType := voteOutcome(b.Vote)
		attrs := m.attrs(withError([]attribute.KeyValue{operation, keyInstance.String(valid(b.Instance)), keyOutcome.String(outcome)}, errorType)...)
		m.votes.Add(ctx, 1, attrs)
		// 0 is the latency of an instance that was not asked, or has not answered yet.
		if b.Latency > 0 {
			m.voteDuration.Record(ctx, b.Latency.Seconds(), attrs)
		}
	}
}

// waitStarted and waitEnded count with the same attributes, so that the count comes back to 0.
func (m *meter) waitStarted(ctx context.Context, e quorum.WaitStart) {
	m.waiters.Add(ctx, 1, m.attrs(m.keyed(nil, e.Key)...))
}

func (m *meter) waitEnded(ctx context.Context, e quorum.WaitEnd) {
	m.waiters.Add(ctx, -1, m.attrs(m.keyed(nil, e.Key)...))
	outcome, errorType := waitOutcome(e.Err)
	attrs := m.attrs(m.keyed(withError([]attribute.KeyValue{keyOutcome.String(outcome), keyHolder.String(waitHolder(e))}, errorType), e.Key)...)
	m.waits.Add(ctx, 1, attrs)
	m.waitDuration.Record(ctx, e.Waited.Seconds(), attrs)
	m.waitTries.Record(ctx, int64(e.Tries), attrs)
}

func (m *meter) leaseReleased(ctx context.Context, e quorum.LeaseEvent) {
	errorType := ""
	if e.Err != nil && !errors.Is(e.Err, quorum.ErrHandedOff) {
		errorType = nameOf(verdictOf(e.Err), verdicts)
	}
	m.released.Add(ctx, 1, m.attrs(m.keyed(withError(nil, errorType), e.Key)...))
	// A lease that was lost before has had its hold measured then. One that was
	// resumed from a handle isn't known here, but was valid.
	if m.leases.drop(e, time.Now()) || e.Validity > 0 {
		m.hold.Record(ctx, e.Held.Seconds(), m.attrs(m.keyed([]attribute.KeyValue{keyOutcome.String("released")}, e.Key)...))
	}
}

func (m *meter) leaseLost(e quorum.LeaseEvent) {
	ctx := context.Background()
	m.leases.drop(e, time.Now())
	m.lost.Add(ctx, 1, m.attrs(m.keyed(withError(nil, nameOf(verdictOf(e.Err), verdicts)), e.Key)...))
	m.hold.Record(ctx, e.Held.Seconds(), m.attrs(m.keyed([]attribute.KeyValue{keyOutcome.String("lost")}, e.Key)...))
}

// observeHeld gives the number of leases held, for each key where keys are wanted.
func (m *meter) observeHeld(give func(n int64, attrs metric.MeasurementOption)) {
	held := m.leases.held(time.Now())
	if m.withKey {
		for key, n := range held {
			give(n, m.attrs(keyKey.String(valid(key))))
		}
		return
	}
	var all int64
	for _, n := range held {
		all += n
	}
	give(all, m.attrs())
}

func (m *meter) quarantined(e quorum.QuarantineEvent) {
	reason := otherError
	if e.Err != nil {
		reason = strings.ReplaceAll(e.Err.Reason.String(), " ", "_")
	}
	m.quarantines.Add(context.Background(), 1, m.attrs(keyInstance.String(valid(e.Instance)), keyReason.String(reason)))
}

func (m *meter) clockJumped(e quorum.ClockEvent) {
	direction := "forward"
	if e.Jump.By < 0 {
		direction = "back"
	}
	m.jumps.Add(context.Background(), 1, m.attrs(keyInstance.String(valid(e.Instance)), keyDirection.String(direction)))
}

func (m *meter) countAt(what metric.Int64Counter, instance string) {
	what.Add(context.Background(), 1, m.attrs(keyInstance.String(valid(instance))))
}
