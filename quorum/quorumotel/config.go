// Package quorumotel measures and traces what a Coordinator does with
// OpenTelemetry:
//
//	hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: meters, TracerProvider: tracers})
//	...
//	cfg.Hooks = hooks
//
// It is a module of its own, so that nobody who has no use for OpenTelemetry gets
// its dependencies.
//
// # Metrics
//
// Durations are in seconds.
//
//	redlock.rounds                  counter    {round}       operation, outcome, error.type
//	redlock.round.duration          histogram  s             operation, outcome, error.type
//	redlock.instance.votes          counter    {vote}        instance, operation, outcome, error.type
//	redlock.instance.vote.duration  histogram  s             instance, operation, outcome, error.type
//	redlock.waiters                 up-down    {goroutine}
//	redlock.waits                   counter    {wait}        outcome, holder, error.type
//	redlock.wait.duration           histogram  s             outcome, holder, error.type
//	redlock.wait.tries              histogram  {try}         outcome, holder, error.type
//	redlock.instance.quarantines    counter    {quarantine}  instance, reason
//	redlock.instance.clock.jumps    counter    {jump}        instance, direction
//	redlock.instance.unprotected    counter    {event}       instance
//	redlock.instance.cannot_notify  counter    {event}       instance
//	redlock.leases.released         counter    {lease}       error.type
//	redlock.leases.lost             counter    {lease}       error.type
//	redlock.lease.hold.duration     histogram  s             outcome
//
// The attributes' full names are redlock.operation (acquire, extend),
// redlock.outcome, redlock.holder, redlock.instance, redlock.reason (restarted, clock_jumped) and
// redlock.direction (forward, back); error.type is there only where something went
// wrong, and has one of a few dozen values, "_OTHER" for all that this package
// doesn't know.
//
// A round's outcome is won, taken (somebody else has the lock, which is an answer
// and no error) or failed. A vote's is granted, refused, failed, or pending: not
// in when its round was decided. An instance that is pending more often than its
// fellows is the slowest; its late votes are in no histogram, nor are those for
// which it wasn't asked at all. A hold's outcome is released or lost.
// Leases that were handed off or left to expire count as released, because their holders ended them.
//
// redlock.waiters is how many goroutines of this process are in Acquire now. A wait is one call
// of Acquire, also on a lock that is free: its outcome is acquired or gave_up, and error.type
// says why (exhausted: MaxTries or MaxWait; deadline or cancelled: the caller's context; closed;
// or what no waiting cures). Its holder is none (the lock was free), here (this process had it),
// elsewhere (another client had it, or asked for it, too) or both, one after the other.
//
// # Traces
//
// Each round is a span, a child of the caller's, from its start to its decision,
// with an event "vote" for each instance. It has the status Error if it failed;
// taken is left unset. A wait for a lock that was taken, or that was given up, is a span, too,
// beside its rounds: "redlock wait". The lock's key and token are on the span. Lock values are
// nowhere: where a server's error repeats one, it is cut short.
package quorumotel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/redquorum/redlock/quorum"
)

// ErrConfig: a value in a Config can't be used.
var ErrConfig = errors.New("quorumotel: bad configuration")

// scope names this package to OpenTelemetry.
const scope = "github.com/redquorum/redlock/quorum/quorumotel"

// Config says where measurements go. The zero Config is ready to use.
type Config struct {
	// MeterProvider takes the metrics. Default: otel.GetMeterProvider(). For none
	// at all give the one of go.opentelemetry.io/otel/metric/noop.
	MeterProvider metric.MeterProvider

	// TracerProvider takes the spans. Default: otel.GetTracerProvider(). For none
	// at all give the one of go.opentelemetry.io/otel/trace/noop.
	TracerProvider trace.TracerProvider

	// Attributes are put on everything, for instance to tell several Coordinators
	// of one process apart: few values. Default: none.
	Attributes []attribute.KeyValue
}

// New gives hooks that measure and trace. What several Coordinators count is added up unless
// their Attributes differ.
// Errors: ErrConfig, and what the MeterProvider failed with.
func New(cfg Config) (quorum.Hooks, error) {
	for i, a := range cfg.Attributes {
		if !a.Valid() {
			return quorum.Hooks{}, fmt.Errorf("%w: Attributes[%d] has no key; give it one, or leave it out (its value is %q)", ErrConfig, i, a.Value.Emit())
		}
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	m, err := newMeter(cfg)
	if err != nil {
		return quorum.Hooks{}, err
	}
	return m.hooks().And(newTracer(cfg).hooks()), nil
}
