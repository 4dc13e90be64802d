package deploy_test

import (
	"context"
	"log"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumotel"
	"github.com/redquorum/redlock/quorum/quorumslog"
)

func Example() {
	exporter, err := prometheus.New() // OpenTelemetry's, for what Prometheus scrapes
	if err != nil {
		log.Fatal(err)
	}
	hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(exporter))})
	if err != nil {
		log.Fatal(err)
	}
	cfg := quorum.Config{Hooks: hooks.And(quorumslog.Hooks(slog.Default()))}
	locks, err := redlock.Open(cfg, "redis://a:6379", "redis://b:6379", "redis://c:6379")
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	http.Handle("/metrics", promhttp.Handler())
	log.Println(http.ListenAndServe(":2112", nil)) // beside what your program does
}
