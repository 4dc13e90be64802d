package quorumotel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/redquorum/redlock/quorum"
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
	assert.Equal(t, 1, o.held())
	assert.Len(t, o.spans.Ended(), 1)
}

func TestNoopProviders(t *testing.T) {
	hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: noop.NewMeterProvider(), TracerProvider: nooptrace.NewTracerProvider()})
	require.NoError(t, err)
	assert.NotPanics(t, func() { tellAll(t.Context(), hooks) })
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
	counter, histogram, held, callback error
}

func (f *failing) Meter(string, ...metric.MeterOption) metric.Meter { return &f.meter }

func (m *failingMeter) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, m.counter
}

func (m *failingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, m.histogram
}

func (m *failingMeter) Int64ObservableUpDownCounter(string, ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, m.held
}

func (m *failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, m.callback
}

func TestMeterProviderThatFails(t *testing.T) {
	broken := errors.New("broken")
	for name, meter := range map[string]failingMeter{
		"counter": {counter: broken}, "histogram": {histogram: broken}, "observable": {held: broken}, "callback": {callback: broken},
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

// Unmeasured events cost nothing, and hooks for logs can be added.
func TestUnusedHooksAreNil(t *testing.T) {
	hooks := observe(t).hooks
	assert.Nil(t, hooks.RoundStarted)
	lost := 0
	both := hooks.And(quorum.Hooks{Lost: func(quorum.LeaseEvent) { lost++ }})
	both.Lost(quorum.LeaseEvent{Held: time.Second, Err: quorum.ErrLost})
	assert.Equal(t, 1, lost)
}
