package quorumotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// What attributes are called. error.type is OpenTelemetry's own.
const (
	keyOperation = attribute.Key("redlock.operation")
	keyOutcome   = attribute.Key("redlock.outcome")
	keyInstance  = attribute.Key("redlock.instance")
	keyReason    = attribute.Key("redlock.reason")
	keyHolder    = attribute.Key("redlock.holder")
	keyDirection = attribute.Key("redlock.direction")
	keyKey       = attribute.Key("redlock.key")
	keyAlso      = attribute.Key("redlock.also")
	keyTries     = attribute.Key("redlock.tries")
	keyTry       = attribute.Key("redlock.try")
	keyToken     = attribute.Key("redlock.token")
	keyValidity  = attribute.Key("redlock.validity")
	keyLatency   = attribute.Key("redlock.latency")
	keyErrorType = attribute.Key("error.type")
	keyErrorText = attribute.Key("error.message")
)

// otherError is OpenTelemetry's word for an error that has no name of its own.
const otherError = "_OTHER"

// errorName gives one of package quorum's errors a short name.
type errorName struct {
	err  error
	name string
}

// verdicts are how rounds and leases end, the more special ones first: an expired
// lease is lost as well.
var verdicts = []errorName{
	{quorum.ErrTaken, "taken"},
	{quorum.ErrNoQuorum, "no_quorum"},
	{quorum.ErrTooSlow, "too_slow"},
	{quorum.ErrTokenRace, "token_race"},
	{quorum.ErrOverloaded, "overloaded"},
	{quorum.ErrExhausted, "exhausted"},
	{quorum.ErrSetMismatch, "set_mismatch"},
	{quorum.ErrInterrupted, "interrupted"},
	{quorum.ErrClosed, "closed"},
	{quorum.ErrReleased, "released"},
	{quorum.ErrNotHeld, "not_held"},
	{quorum.ErrUnreachable, "unreachable"},
	{quorum.ErrNotExtended, "not_extended"},
	{quorum.ErrExpired, "expired"},
	{quorum.ErrLost, "lost"},
}

// failures are why instances' votes don't count.
var failures = []errorName{
	{quorum.ErrTimeout, "timeout"},
	{quorum.ErrOverloaded, "overloaded"},
	{quorum.ErrQuarantined, "quarantined"},
	{quorum.ErrDuplicate, "duplicate"},
	{quorum.ErrSetMismatch, "set_mismatch"},
	{quorum.ErrNotReplicated, "not_replicated"},
	{quorum.ErrNotMaster, "not_master"},
	{quorum.ErrEviction, "eviction"},
	{quorum.ErrHidden, "hidden"},
	{quorum.ErrOtherRun, "other_run"},
	{quorum.ErrCounter, "counter"},
	{quorum.ErrConfig, "config"},
}

func nameOf(err error, names []errorName) string {
	for _, n := range names {
		if errors.Is(err, n.err) {
			return n.name
		}
	}
	return otherError
}

// verdictOf is the part of an error that says how a round or a lease ended. The
// whole of a RoundError Is what its instances failed with as well.
func verdictOf(err error) error {
	var round *quorum.RoundError
	if errors.As(err, &round) {
		return round.Verdict
	}
	return err
}

// roundOutcome is a round's outcome, and its error.type if it failed.
func roundOutcome(err error) (outcome, errorType string) {
	if err == nil {
		return "won", ""
	}
	name := nameOf(verdictOf(err), verdicts)
	if name == "taken" {
		return name, ""
	}
	return "failed", name
}

// waitHolder is where the holder was that a wait was for.
func waitHolder(e quorum.WaitEnd) string {
	switch {
	case e.Here && e.Elsewhere:
		return "both"
	case e.Here:
		return "here"
	case e.Elsewhere:
		return "elsewhere"
	default:
		return "none"
	}
}

// waitOutcome is how a wait ended, and its error.type if that was without a lease.
func waitOutcome(err error) (outcome, errorType string) {
	if err == nil {
		return "acquired", ""
	}
	var given *quorum.WaitError
	switch {
	case !errors.As(err, &given):
		errorType = nameOf(verdictOf(err), verdicts) // no waiting cures it
	case errors.Is(given.Verdict, quorum.ErrInterrupted) && errors.Is(given.Cause, context.DeadlineExceeded):
		errorType = "deadline"
	case errors.Is(given.Verdict, quorum.ErrInterrupted):
		errorType = "cancelled"
	default:
		errorType = nameOf(given.Verdict, verdicts)
	}
	return "gave_up", errorType
}

// voteOutcome is a vote's outcome, and its error.type if it failed, or was
// refused for another reason than the key's.
func voteOutcome(v wire.Vote) (outcome, errorType string) {
	switch {
	case v.Err == nil:
		return v.Outcome.String(), ""
	case errors.Is(v.Err, quorum.ErrPending):
		return "pending", ""
	default:
		return v.Outcome.String(), nameOf(v.Err, failures)
	}
}

// withError appends error.type where there is one.
func withError(attrs []attribute.KeyValue, errorType string) []attribute.KeyValue {
	if errorType == "" {
		return attrs
	}
	return append(attrs, keyErrorType.String(errorType))
}

// keyAttrs are the keys of a round or a wait.
func keyAttrs(key string, also []string) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyKey.String(valid(key))}
	if len(also) > 0 {
		others := make([]string, len(also))
		for i, other := range also {
			others[i] = valid(other)
		}
		attrs = append(attrs, keyAlso.StringSlice(others))
	}
	return attrs
}
