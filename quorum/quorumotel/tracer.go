package quorumotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redquorum/redlock/fencing"
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

// span begins the span of what is over. One that was begun with it would have to be carried to its
// end in a context, and hooks can't give one back. What is known from the start is given at the
// start, for samplers.
func (t *tracer) span(ctx context.Context, name string, at time.Time, key string, also []string, more ...attribute.KeyValue) trace.Span {
	attrs := append(append(t.base, lockKey(key)), more...)
	if len(also) > 0 {
		others := make([]string, len(also))
		for i, other := range also {
			others[i] = valid(other)
		}
		attrs = append(attrs, attribute.StringSlice("redlock.also", others))
	}
	_, s := t.out.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	return s
}

// setToken puts a lease's token on a span, if it has one.
func setToken(s trace.Span, token fencing.Token) {
	if token != 0 {
		s.SetAttributes(attribute.Int64("redlock.token", int64(token))) // at most 2^53
	}
}

// waitEnded makes the span of a wait when it is over. A goroutine that waits behind others of
// its process may send no round, so rounds' spans would leave a gap. An Acquire that found the
// lock free needs none.
func (t *tracer) waitEnded(ctx context.Context, e quorum.WaitEnd) {
	if !e.Here && !e.Elsewhere && e.Err == nil {
		return
	}
	s := t.span(ctx, "redlock wait", e.Started, e.Key, e.Also)
	defer s.End(trace.WithTimestamp(e.Started.Add(e.Waited)))
	how := waitResult(e.Err)
	s.SetAttributes(how.attrs(holder(e), attribute.Int("redlock.tries", e.Tries))...)
	setToken(s, e.Token)
	if e.Err != nil {
		s.SetStatus(codes.Error, how.errorType)
	}
}

// roundDecided makes a round's span.
func (t *tracer) roundDecided(ctx context.Context, e quorum.RoundEnd) {
	s := t.span(ctx, "redlock "+e.Op.String(), e.Started, e.Key, e.Also, operation(e.Op), attribute.Int("redlock.try", e.Try))
	defer s.End(trace.WithTimestamp(e.Started.Add(e.Took)))
	if !s.IsRecording() {
		return
	}
	for _, b := range e.Ballots {
		s.AddEvent("vote", trace.WithTimestamp(answered(e, b)), trace.WithAttributes(voteAttrs(b)...))
	}
	how := roundResult(e.Err)
	s.SetAttributes(how.attrs()...)
	if e.Err == nil {
		s.SetAttributes(attribute.Float64("redlock.validity", e.Validity.Seconds()))
		setToken(s, e.Token)
	}
	if how.errorType != "" {
		// The verdict alone: what the instances said is in the events.
		s.SetStatus(codes.Error, words(verdictOf(e.Err)))
	}
}

// answered is about when a vote came in: commands are sent when the round starts,
// or a little later where the instances are asked one by one. What isn't in yet
// is put at the end.
func answered(e quorum.RoundEnd, b quorum.Ballot) time.Time {
	if voteResult(b.Vote).outcome == "pending" {
		return e.Started.Add(e.Took)
	}
	return e.Started.Add(min(b.Latency, e.Took))
}

func voteAttrs(b quorum.Ballot) []attribute.KeyValue {
	how := voteResult(b.Vote)
	attrs := how.attrs(instance(b.Instance))
	if b.Latency > 0 {
		attrs = append(attrs, attribute.Float64("redlock.latency", b.Latency.Seconds()))
	}
	if how.errorType != "" {
		attrs = append(attrs, attribute.String("error.message", words(b.Vote.Err)))
	}
	return attrs
}
