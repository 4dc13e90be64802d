package quorumotel_test

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

var began = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

const value = "0123456789abcdef0123456789abcdef01234567"

func TestSpanOfARoundThatWasWon(t *testing.T) {
	o := observe(t)
	ctx, parent := o.tracer.Tracer("test").Start(t.Context(), "the caller's")
	o.hooks.RoundDecided(ctx, quorum.RoundEnd{
		Op: wire.Acquire, Key: "k", Also: []string{"l", "m\xff"}, Try: 2, Started: began, Took: 3 * time.Millisecond, Token: 33, Validity: 1500 * time.Millisecond,
		Ballots: []quorum.Ballot{
			{Instance: "A", Latency: time.Millisecond, Vote: wire.Vote{Outcome: wire.Granted, Token: 33}},
			{Instance: "B", Latency: time.Hour, Vote: wire.Vote{Outcome: wire.Refused, Holder: value}},
			{Instance: "C", Vote: wire.Vote{Err: quorum.ErrPending}},
		},
	})
	require.Len(t, o.spans.Ended(), 1)
	s := o.spans.Ended()[0]
	assert.Equal(t, "redlock acquire", s.Name())
	assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
	assert.Equal(t, parent.SpanContext().TraceID(), s.SpanContext().TraceID())
	assert.Equal(t, began, s.StartTime())
	assert.Equal(t, began.Add(3*time.Millisecond), s.EndTime())
	assert.Equal(t, codes.Unset, s.Status().Code)
	assert.ElementsMatch(t, []attribute.KeyValue{
		attribute.String("redlock.operation", "acquire"), attribute.String("redlock.key", "k"), attribute.Int("redlock.try", 2),
		attribute.StringSlice("redlock.also", []string{"l", `m\xff`}), // UTF-8, as exporters need it
		attribute.String("redlock.outcome", "won"), attribute.Float64("redlock.validity", 1.5), attribute.Int64("redlock.token", 33),
	}, s.Attributes())

	events := s.Events()
	require.Len(t, events, 3)
	want := []struct {
		at    time.Duration
		attrs []attribute.KeyValue
	}{
		{time.Millisecond, []attribute.KeyValue{attribute.String("redlock.instance", "A"), attribute.String("redlock.outcome", "granted"), attribute.Float64("redlock.latency", .001)}},
		// Never after the span's end, whatever the clocks say.
		{3 * time.Millisecond, []attribute.KeyValue{attribute.String("redlock.instance", "B"), attribute.String("redlock.outcome", "refused"), attribute.Float64("redlock.latency", 3600)}},
		{3 * time.Millisecond, []attribute.KeyValue{attribute.String("redlock.instance", "C"), attribute.String("redlock.outcome", "pending")}},
	}
	for i, w := range want {
		assert.Equal(t, "vote", events[i].Name)
		assert.Equal(t, began.Add(w.at), events[i].Time)
		assert.Equal(t, w.attrs, events[i].Attributes)
	}
}

func TestSpanStatus(t *testing.T) {
	failed := &quorum.RoundError{Op: wire.Acquire, Key: "k", Verdict: quorum.ErrNoQuorum, Votes: []quorum.Ballot{{Instance: "A", Vote: wire.Vote{Err: quorum.ErrTaken}}}}
	cases := map[string]struct {
		err       error
		code      codes.Code
		text      string
		outcome   string
		errorType string
	}{
		"won":            {nil, codes.Unset, "", "won", ""},
		"taken":          {&quorum.RoundError{Verdict: quorum.ErrTaken}, codes.Unset, "", "taken", ""},
		"failed":         {failed, codes.Error, quorum.ErrNoQuorum.Error(), "failed", "no_quorum"},
		"something else": {errors.New("no randomness for " + value), codes.Error, "no randomness for 01234567...", "failed", "_OTHER"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := observe(t)
			o.hooks.RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Extend, Key: "k", Try: 1, Started: began, Err: c.err})
			s := o.spans.Ended()[0]
			assert.Equal(t, "redlock extend", s.Name())
			assert.Equal(t, trace.Status{Code: c.code, Description: c.text}, s.Status())
			set := attribute.NewSet(s.Attributes()...)
			outcome, _ := set.Value("redlock.outcome")
			assert.Equal(t, c.outcome, outcome.AsString())
			errorType, ok := set.Value("error.type")
			assert.Equal(t, c.errorType != "", ok)
			assert.Equal(t, c.errorType, errorType.AsString())
			assert.False(t, set.HasValue("redlock.token"), "there is none")
			assert.Equal(t, c.err == nil, set.HasValue("redlock.validity"))
		})
	}
}

func TestSpansFollowTheSampler(t *testing.T) {
	o := observe(t)
	var seen []attribute.KeyValue
	o.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(o.spans), trace.WithSampler(sampler(func(p trace.SamplingParameters) trace.SamplingResult {
		seen = p.Attributes
		return trace.SamplingResult{Decision: trace.Drop}
	})))
	o.more().RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Acquire, Key: "k", Try: 1})
	assert.Empty(t, o.spans.Ended())
	assert.Contains(t, seen, attribute.String("redlock.key", "k"), "it can decide by the key")
}

type sampler func(trace.SamplingParameters) trace.SamplingResult

func (s sampler) ShouldSample(p trace.SamplingParameters) trace.SamplingResult { return s(p) }
func (s sampler) Description() string                                          { return "test" }

// OTLP exporters drop a whole batch if one string isn't UTF-8, and keys, names and errors may hold
// any bytes.
func TestEverythingIsUTF8(t *testing.T) {
	o := observe(t)
	const key, escaped = "user/\xff\"ü", `user/\xff\"ü`
	ctx := t.Context()
	held := quorum.LeaseEvent{Key: key, Token: 7, Validity: time.Second}
	o.hooks.RoundDecided(ctx, quorum.RoundEnd{
		Op: wire.Acquire, Key: key, Started: time.Now(), Took: time.Second, Err: errors.New("verdict \xfe"),
		Ballots: []quorum.Ballot{{Instance: "A\xff", Latency: time.Second, Vote: wire.Vote{Err: errors.New("says \xff " + value[:39])}}},
	})
	var spans []attribute.KeyValue
	for _, s := range o.spans.Ended() {
		spans = append(spans, s.Attributes()...)
		assert.True(t, utf8.ValidString(s.Status().Description), "%q", s.Status().Description)
		for _, e := range s.Events() {
			spans = append(spans, e.Attributes...)
		}
	}
	o.hooks.Released(ctx, held)
	for _, a := range spans {
		assert.True(t, utf8.ValidString(a.Value.AsString()), "%q", a.Value.AsString())
	}
	for name := range o.metrics() {
		for attrs := range o.series(name) {
			assert.True(t, utf8.ValidString(attrs), "%q", attrs)
		}
	}
	assert.Contains(t, spans, attribute.String("redlock.key", escaped))
	assert.Contains(t, spans, attribute.String("redlock.instance", `A\xff`))
	assert.Contains(t, o.series("redlock.instance.votes"), `error.type=_OTHER,redlock.instance=A\\xff,redlock.operation=acquire,redlock.outcome=failed`)
	assert.Contains(t, spans, attribute.String("error.message", `says \xff 01234567...`))
}
