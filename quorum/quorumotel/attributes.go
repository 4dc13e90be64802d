package quorumotel

import (
	"context"
	"errors"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// otherError is OpenTelemetry's word for an error that has no name of its own.
const otherError = "_OTHER"

// errorName gives one of package quorum's errors a short name.
type errorName struct {
	err  error
	name string
}

// names are those of errors: how rounds and leases end, the more special ones first, because an expired lease is
// lost as well, and then why instances' votes don't count.
var names = []errorName{
	{quorum.ErrTaken, "taken"},
	{quorum.ErrNoQuorum, "no_quorum"},
	{quorum.ErrTooSlow, "too_slow"},
	{quorum.ErrUnsettled, "token_race"},
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
	{quorum.ErrTimeout, "timeout"},
	{quorum.ErrQuarantined, "quarantined"},
	{quorum.ErrDuplicate, "duplicate"},
	{quorum.ErrNotReplicated, "not_replicated"},
	{quorum.ErrNotMaster, "not_master"},
	{quorum.ErrEviction, "eviction"},
	{quorum.ErrHidden, "hidden"},
	{quorum.ErrOtherRun, "other_run"},
	{quorum.ErrCounter, "counter"},
	{quorum.ErrConfig, "config"},
}

func nameOf(err error) string {
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

// result is how something ended, and its error.type if it failed.
type result struct{ outcome, errorType string }

// attrs appends the result to what it is about.
func (r result) attrs(about ...attribute.KeyValue) []attribute.KeyValue {
	if r.outcome != "" {
		about = append(about, attribute.String("redlock.outcome", r.outcome))
	}
	if r.errorType != "" {
		about = append(about, attribute.String("error.type", r.errorType))
	}
	return about
}

func roundResult(err error) result {
	if err == nil {
		return result{"won", ""}
	}
	name := nameOf(verdictOf(err))
	if name == "taken" {
		return result{name, ""}
	}
	return result{"failed", name}
}

func waitResult(err error) result {
	if err == nil {
		return result{"acquired", ""}
	}
	var given *quorum.WaitError
	switch {
	case !errors.As(err, &given):
		return result{"gave_up", nameOf(verdictOf(err))} // no waiting cures it
	case !errors.Is(given.Verdict, quorum.ErrInterrupted):
		return result{"gave_up", nameOf(given.Verdict)}
	case errors.Is(given.Cause, context.DeadlineExceeded):
		return result{"gave_up", "deadline"}
	}
	return result{"gave_up", "cancelled"}
}

// voteResult has an error.type also for a vote that was refused for another reason than the key's.
func voteResult(v wire.Vote) result {
	switch {
	case v.Err == nil:
		return result{v.Outcome.String(), ""}
	case errors.Is(v.Err, quorum.ErrPending):
		return result{"pending", ""}
	}
	return result{v.Outcome.String(), nameOf(v.Err)}
}

// holder is where the holder was that a wait was for.
func holder(e quorum.WaitEnd) attribute.KeyValue {
	where := "none"
	switch {
	case e.Here && e.Elsewhere:
		where = "both"
	case e.Here:
		where = "here"
	case e.Elsewhere:
		where = "elsewhere"
	}
	return attribute.String("redlock.holder", where)
}

func operation(op wire.Op) attribute.KeyValue {
	return attribute.String("redlock.operation", op.String())
}

func instance(name string) attribute.KeyValue {
	return attribute.String("redlock.instance", valid(name))
}

func lockKey(key string) attribute.KeyValue { return attribute.String("redlock.key", valid(key)) }

// valid gives a text that exporters take: OTLP refuses a whole batch in which one string
// isn't UTF-8, and keys, names and errors may hold any bytes. A text that isn't UTF-8 is
// escaped as in a Go string.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// words is an error's text without lock values: whoever knows one can release the lock.
func words(err error) string { return valid(quorum.Redact(err.Error())) }
