package quorumotel_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumotel"
	"github.com/redquorum/redlock/quorum/quorumslog"
)

func Example() {
	reader := metric.NewManualReader() // in a service: an exporter, as of Prometheus or OTLP
	provider := metric.NewMeterProvider(metric.WithReader(reader))

	hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	cfg := quorum.Config{Hooks: hooks.And(quorumslog.Hooks(slog.New(slog.DiscardHandler)))}

	// A Coordinator made with cfg calls these hooks.
	cfg.Hooks.Lost(quorum.LeaseEvent{Key: "reports/daily", Token: 33, Err: quorum.ErrExpired})

	var found metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &found); err != nil {
		log.Fatal(err)
	}
	for _, m := range found.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "redlock.leases.lost" {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output: redlock.leases.lost 1
}
