package quorumotel_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
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

// failing refuses to make instruments of one kind.
type failing struct {
	noop.MeterProvider
	meter failingMeter
}

type failingMeter struct {
	noop.Meter
	counter, histogram error
}

func (f *failing) Meter(string, ...metric.MeterOption) metric.Meter { return &f.meter }

func (m *failingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, m.counter
}

func (m *failingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, m.histogram
}

func TestMeterProviderThatFails(t *testing.T) {
	broken := errors.New("broken")
	for name, meter := range map[string]failingMeter{
		"counter": {counter: broken}, "histogram": {histogram: broken},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := quorumotel.New(quorumotel.Config{MeterProvider: &failing{meter: meter}})
			require.ErrorIs(t, err, broken)
			assert.ErrorContains(t, err, "quorumotel: ")
		})
	}
	_, err := quorumotel.New(quorumotel.Config{MeterProvider: &failing{}})
	assert.NoError(t, err)
}
