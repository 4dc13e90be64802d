package quorumotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redquorum/redlock/quorum"
)

// tracer makes the spans.
type tracer struct {
	base []attribute.KeyValue
	out  trace.Tracer
}

func newTracer(cfg Config) *tracer {
	return &tracer{base: slices.Clip(slices.Clone(cfg.Attributes)), out: cfg.TracerProvider.Tracer(scope)}
}

func (t *tracer) hooks() quorum.Hooks {
	return quorum.Hooks{RoundDecided: t.roundDecided, WaitEnded: t.waitEnded}
}

// waitEnded makes the span of a wait when it is over. A goroutine that waits behind others of
// its process may send no round, so rounds' spans would leave a gap. An Acquire that found the
// lock free needs none.
func (t *tracer) waitEnded(ctx context.Context, e quorum.WaitEnd) {
	if !e.Here && !e.Elsewhere && e.Err == nil {
		return
	}
	_, s := t.out.Start(ctx, "redlock wait",
		trace.WithTimestamp(e.Started),
		trace.WithAttributes(t.base...),
		trace.WithAttributes(keyAttrs(e.Key, e.Also)...))
	defer s.End(trace.WithTimestamp(e.Started.Add(e.Waited)))
	if !s.IsRecording() {
		return
	}
	outcome, errorType := waitOutcome(e.Err)
	s.SetAttributes(withError([]attribute.KeyValue{keyOutcome.String(outcome), keyHolder.String(waitHolder(e)), keyTries.Int(e.Tries)}, errorType)...)
	if e.Token != 0 {
		s.SetAttributes(keyToken.Int64(int64(e.Token))) // at most 2^53
	}
	if e.Err != nil {
		s.SetStatus(codes.Error, errorType)
	}
}

// roundDecided makes a round's span when it is over. One that was begun with the
// round would have to be carried to its end in a context, and hooks can't give
// one back.
func (t *tracer) roundDecided(ctx context.Context, e quorum.RoundEnd) {
	end := e.Started.Add(e.Took)
	// What is known from the start is given at the start, for samplers.
	_, s := t.out.Start(ctx, "redlock "+e.Op.String(),
		trace.WithTimestamp(e.Started),
		trace.WithAttributes(t.base...),
		trace.WithAttributes(keyAttrs(e.Key, e.Also)...),
		trace.WithAttributes(keyOperation.String(e.Op.String()), keyTry.Int(e.Try)))
	defer s.End(trace.WithTimestamp(end))
	if !s.IsRecording() {
		return
	}
	for _, b := range e.Ballots {
		s.AddEvent("vote", trace.WithTimestamp(answered(e, b)), trace.WithAttributes(voteAttrs(b)...))
	}
	outcome, errorType := roundOutcome(e.Err)
	s.SetAttributes(withError([]attribute.KeyValue{keyOutcome.String(outcome)}, errorType)...)
	if e.Err == nil {
		s.SetAttributes(keyValidity.Float64(e.Validity.Seconds()))
		if e.Token != 0 {
			s.SetAttributes(keyToken.Int64(int64(e.Token))) // at most 2^53
		}
	}
	if errorType != "" {
		// The verdict alone: what the instances said is in the events.
		s.SetStatus(codes.Error, words(verdictOf(e.Err)))
	}
}

// answered is about when a vote came in: commands are sent when the round starts,
// or a little later where the instances are asked one by one. What isn't in yet
// is put at the end.
func answered(e quorum.RoundEnd, b quorum.Ballot) time.Time {
	if outcome, _ := voteOutcome(b.Vote); outcome == "pending" {
		return e.Started.Add(e.Took)
	}
	return e.Started.Add(min(b.Latency, e.Took))
}

func voteAttrs(b quorum.Ballot) []attribute.KeyValue {
	outcome, errorType := voteOutcome(b.Vote)
	attrs := []attribute.KeyValue{keyInstance.String(valid(b.Instance)), keyOutcome.String(outcome)}
	if b.Latency > 0 {
		attrs = append(attrs, keyLatency.Float64(b.Latency.Seconds()))
	}
	if errorType != "" {
		attrs = append(attrs, keyErrorType.String(errorType), keyErrorText.String(words(b.Vote.Err)))
	}
	return attrs
}
