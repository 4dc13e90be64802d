package quorumotel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumotel"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// observed is hooks with all that they export.
type observed struct {
	t      testing.TB
	hooks  quorum.Hooks
	reader *metric.ManualReader
	meters *metric.MeterProvider
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
}

func observe(t testing.TB, overrides ...func(*quorumotel.Config)) *observed {
	t.Helper()
	o := &observed{t: t, reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	o.meters = metric.NewMeterProvider(metric.WithReader(o.reader))
	o.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(o.spans))
	o.hooks = o.more(overrides...)
	return o
}

// more makes further hooks on the same providers.
func (o *observed) more(overrides ...func(*quorumotel.Config)) quorum.Hooks {
	o.t.Helper()
	cfg := quorumotel.Config{MeterProvider: o.meters, TracerProvider: o.tracer}
	for _, override := range overrides {
		override(&cfg)
	}
	hooks, err := quorumotel.New(cfg)
	require.NoError(o.t, err)
	return hooks
}

// point is one time series' value: a sum, or a histogram's count and sum.
type point struct {
	count uint64
	sum   float64
}

// series are all time series of a metric, by their attributes as in "a=1,b=2".
type series map[string]point

func (o *observed) metrics() map[string]metricdata.Metrics {
	o.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(o.t, o.reader.Collect(context.Background(), &all))
	named := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			named[m.Name] = m
		}
	}
	return named
}

func (o *observed) series(name string) series {
	o.t.Helper()
	s := series{}
	switch data := o.metrics()[name].Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			s[encode(p.Attributes)] = point{sum: float64(p.Value)}
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			s[encode(p.Attributes)] = point{count: p.Count, sum: p.Sum}
		}
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			s[encode(p.Attributes)] = point{count: p.Count, sum: float64(p.Sum)}
		}
	}
	return s
}

func encode(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }

// cluster is a Coordinator on servers in memory.
type cluster struct {
	*quorum.Coordinator
	other   *quorum.Coordinator // of another process, with the same hooks
	servers quorumtest.Servers
}

// taken tries a lock that the other process finds taken. It knows the servers before.
func (c *cluster) taken(t *testing.T, ctx context.Context, key string) {
	t.Helper()
	_, err := c.other.Inspect(ctx, key)
	require.NoError(t, err)
	_, err = c.other.TryAcquire(ctx, key)
	require.ErrorIs(t, err, quorum.ErrTaken)
}

// play runs a test in a bubble of virtual time, on three servers that answer in
// 2 ms and may vote from the start.
func play(t *testing.T, test func(t *testing.T, o *observed, c *cluster), overrides ...func(*quorum.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t)
		c := &cluster{servers: quorumtest.NewServers(3)}
		var instances []wire.Instance
		for _, s := range c.servers {
			quick := func(wire.Request) time.Duration { return time.Millisecond }
			s.Delay(quick, quick)
			instances = append(instances, s)
		}
		cfg := quorum.Config{Hooks: o.hooks}
		for _, override := range overrides {
			override(&cfg)
		}
		var err error
		c.Coordinator, err = quorum.New(cfg, instances...)
		require.NoError(t, err)
		c.other, err = quorum.New(cfg, instances...)
		require.NoError(t, err)
		test(t, o, c)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, c.other.Close(ctx))
		require.NoError(t, c.Close(ctx))
	})
}
