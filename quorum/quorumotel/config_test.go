package quorumotel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/redquorum/redlock/quorum/quorumotel"
)

func TestZeroConfigUsesTheGlobalProviders(t *testing.T) {
	o := observe(t)
	meters, tracers := otel.GetMeterProvider(), otel.GetTracerProvider()
	t.Cleanup(func() {
		otel.SetMeterProvider(meters)
		otel.SetTracerProvider(tracers)
	})
	otel.SetMeterProvider(o.meters)
	otel.SetTracerProvider(o.tracer)
	hooks, err := quorumotel.New(quorumotel.Config{})
	require.NoError(t, err)
	tellAll(t.Context(), hooks)
	assert.Len(t, o.series("redlock.leases.lost"), 1)
	assert.Len(t, o.spans.Ended(), 1)
}

func TestNoopProviders(t *testing.T) {
	hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: noop.NewMeterProvider(), TracerProvider: nooptrace.NewTracerProvider()})
	require.NoError(t, err)
	assert.NotPanics(t, func() { tellAll(t.Context(), hooks) })
	assert.Nil(t, hooks.RoundStarted, "events that aren't measured cost nothing")
}

func TestBadAttributes(t *testing.T) {
	hooks, err := quorumotel.New(quorumotel.Config{Attributes: []attribute.KeyValue{attribute.Int("fine", 1), attribute.String("", "east")}})
	require.ErrorIs(t, err, quorumotel.ErrConfig)
	assert.EqualError(t, err, `quorumotel: bad configuration: Attributes[1] has no key; give it one, or leave it out (its value is "east")`)
	assert.Nil(t, hooks.RoundDecided)
}
