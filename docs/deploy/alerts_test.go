//go:build unix

package deploy_test

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumotel"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// rules are the alerts of alerts.yaml, checked as Prometheus checks them.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation)
	require.Empty(t, errs)
	require.Len(t, groups.Groups, 1)
	return groups.Groups[0].Rules
}

// trouble is an incident on three servers under a service that locks, and the alerts that it must
// raise. No other alert may fire.
type trouble struct {
	name   string
	happen func(servers []*quorumtest.Server)
	alerts []string
	atOnce bool // from the start, and not after five minutes
}

var troubles = []trouble{
	{"nothing", func([]*quorumtest.Server) {}, nil, false},
	{"two servers are down", func(s []*quorumtest.Server) { s[0].Kill(); s[1].Kill() },
		[]string{"RedlockRoundsFail", "RedlockLeaseLost", "RedlockServerSilent"}, false},
	{"one server hangs", func(s []*quorumtest.Server) { s[0].Hang() }, []string{"RedlockServerSilent"}, false},
	{"one server restarts empty", func(s []*quorumtest.Server) { s[0].Restart(false) }, []string{"RedlockServerInQuarantine"}, false},
	{"two servers restart empty", func(s []*quorumtest.Server) { s[0].Restart(false); s[1].Restart(false) },
		[]string{"RedlockMajorityInQuarantine", "RedlockReleaseNotHeld", "RedlockLeaseLost", "RedlockServerInQuarantine"}, false},
	{"a clock is set forward", func(s []*quorumtest.Server) { s[2].StepClock(time.Hour) }, []string{"RedlockClockJumped", "RedlockServerInQuarantine"}, false},
	{"the keys are deleted", func(s []*quorumtest.Server) {
		for _, server := range s {
			for _, key := range server.Keys() {
				server.Delete(key)
			}
		}
	}, []string{"RedlockReleaseNotHeld", "RedlockLeaseLost"}, false},
	{"the servers are far away", func(s []*quorumtest.Server) {
		for _, server := range s {
			far := func(wire.Request) time.Duration { return 130 * time.Millisecond }
			server.Delay(far, far)
		}
	}, []string{"RedlockRoundsSlow"}, false},
	{"the account may not ask INFO", func(s []*quorumtest.Server) {
		s[0].SetIdentity(func(id *wire.Identity) {
			id.RunID, id.ReplID, id.Uptime, id.Served, id.Hidden = "", "", -time.Second, -time.Second, []string{"INFO: NOPERM"}
		})
	}, []string{"RedlockRestartsHidden"}, true},
	{"the account may not subscribe", func(s []*quorumtest.Server) {
		for _, server := range s {
			server.RefuseSubscriptions(noPermission{})
		}
	}, []string{"RedlockWaitersPoll"}, true},
}

// Every rule fires when it must, also at its first event, and at no other time. So it has only
// metrics, labels and values of quorumotel, as the exporter spells them.
func TestAlerts(t *testing.T) {
	fired := map[string]bool{}
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			data := recorded(t, trouble)
			var got []string
			for _, rule := range rules(t) {
				if !data.fires(t, rule.Expr, time.Duration(rule.For), scrapeEvery) {
					continue
				}
				fired[rule.Alert] = true
				// Clients that wait for the end of a quarantine try so rarely that their failed
				// rounds may or may not reach the rule's share.
				if trouble.name != "two servers restart empty" || rule.Alert != "RedlockRoundsFail" {
					got = append(got, rule.Alert)
				}
			}
			assert.ElementsMatch(t, trouble.alerts, got)
		})
	}
	for _, rule := range rules(t) {
		assert.True(t, fired[rule.Alert], "no trouble raises %s", rule.Alert)
	}
}

const scrapeEvery = 15 * time.Second

var recordings = map[string]*scrapes{}

// recorded is what Prometheus has after a trouble, for all tests.
func recorded(t *testing.T, trouble trouble) *scrapes {
	t.Helper()
	if recordings[trouble.name] == nil {
		recordings[trouble.name] = watch(t, trouble)
	}
	return recordings[trouble.name]
}

// watch runs a service for 24 minutes of virtual time and scrapes it. It begins with
// servers that may vote.
func watch(t *testing.T, trouble trouble) *scrapes {
	t.Helper()
	data := &scrapes{}
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		export, err := exporter.New(exporter.WithRegisterer(registry))
		require.NoError(t, err)
		hooks, err := quorumotel.New(quorumotel.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(export))})
		require.NoError(t, err)
		var servers []*quorumtest.Server
		var instances []wire.Instance
		for _, name := range []string{"redis-a", "redis-b", "redis-c"} {
			s := quorumtest.NewServer(name, nil)
			near := func(wire.Request) time.Duration { return time.Millisecond }
			s.Delay(near, near)
			servers = append(servers, s)
			instances = append(instances, quorumtest.NotifyingServer{Server: s})
		}
		time.Sleep(time.Hour) // no quarantine is left
		if trouble.atOnce {
			trouble.happen(servers)
		}
		locks, err := quorum.New(quorum.Config{
			Hooks: hooks, InstanceTimeout: 400 * time.Millisecond,
			Lab: quorum.Lab{BackoffMin: time.Second, BackoffMax: 5 * time.Second, Random: rand.NewChaCha8([32]byte{})},
		}, instances...)
		require.NoError(t, err)
		other, err := quorum.New(quorum.Config{InstanceTimeout: 400 * time.Millisecond}, instances...)
		require.NoError(t, err)

		held, err := other.TryAcquire(t.Context(), "orders:42") // so that a process waits for another
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(t.Context())
		var service sync.WaitGroup
		for range 2 { // short jobs that compete
			service.Go(func() {
				for ctx.Err() == nil {
					_ = locks.Do(ctx, "orders:42", func(ctx context.Context, _ *quorum.Lease) error { return rest(ctx, 300*time.Millisecond) })
					_ = rest(ctx, time.Second)
				}
			})
		}
		service.Go(func() { _ = rest(ctx, 5*time.Second); _ = held.Release(context.WithoutCancel(ctx)) })
		service.Go(func() { // a long one
			for ctx.Err() == nil {
				_ = locks.Do(ctx, "nightly", func(ctx context.Context, _ *quorum.Lease) error { return rest(ctx, time.Hour) })
			}
		})
		brief, err := locks.WithTerms(func(terms *quorum.Terms) { terms.MaxWait = time.Minute })
		require.NoError(t, err)
		service.Go(func() { // a lease that isn't extended, and finds out about its keys only at the end
			for ctx.Err() == nil {
				if lease, err := brief.Acquire(ctx, "report"); err == nil {
					_ = rest(ctx, 5*time.Second)
					_ = lease.Release(context.WithoutCancel(ctx))
				}
			}
		})
		for at := time.Duration(0); at < 24*time.Minute; at += scrapeEvery {
			if at == 5*time.Minute && !trouble.atOnce {
				time.Sleep(5 * time.Second) // while all are held
				trouble.happen(servers)
				time.Sleep(scrapeEvery - 5*time.Second)
			} else {
				time.Sleep(scrapeEvery)
			}
			families, err := registry.Gather()
			require.NoError(t, err)
			data.add(time.Now(), families)
		}
		cancel()
		for _, s := range servers {
			s.Resume()
		}
		service.Wait()
		require.NoError(t, locks.Close(context.Background()))
		require.NoError(t, other.Close(context.Background()))
	})
	return data
}

// rest waits as work does that ends with its context.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// The runbook has a section for each rule.
func TestRunbook(t *testing.T) {
	runbook, err := os.ReadFile("../running.md")
	require.NoError(t, err)
	for _, rule := range rules(t) {
		_, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "/docs/running.md#")
		assert.Equal(t, strings.ToLower(rule.Alert), anchor)
		assert.Contains(t, string(runbook), "\n### "+rule.Alert+"\n")
		assert.NotEmpty(t, rule.Annotations["summary"])
		assert.Contains(t, []string{"critical", "warning", "info"}, rule.Labels["severity"])
	}
}

// The query of the runbook counts the processes of each version, also those that hold nothing.
func TestVersionsOfProcesses(t *testing.T) {
	runbook, err := os.ReadFile("../running.md")
	require.NoError(t, err)
	query := regexp.MustCompile("`(count by .set_version. [^`]*)`").FindSubmatch(runbook)
	require.NotNil(t, query)
	data := &scrapes{}
	for process, version := range []int64{7, 7, 8} {
		registry := prometheus.NewRegistry()
		// Prometheus adds a label for each process that it scrapes.
		export, err := exporter.New(exporter.WithRegisterer(prometheus.WrapRegistererWith(prometheus.Labels{"instance": strconv.Itoa(process)}, registry)))
		require.NoError(t, err)
		_, err = quorumotel.New(quorumotel.Config{
			MeterProvider: metric.NewMeterProvider(metric.WithReader(export)),
			Attributes:    []attribute.KeyValue{attribute.Int64("set.version", version)},
		})
		require.NoError(t, err)
		families, err := registry.Gather()
		require.NoError(t, err)
		data.add(time.Unix(1, 0), families)
	}
	assert.True(t, data.fires(t, string(query[1])+" == 2", 0, scrapeEvery), "version 7")
	assert.True(t, data.fires(t, string(query[1])+" == 1", 0, scrapeEvery), "version 8")
	assert.False(t, data.fires(t, string(query[1])+" == 3", 0, scrapeEvery), "all together")
}

// noPermission is an error that waiting doesn't help.
type noPermission struct{}

func (noPermission) Error() string   { return "NOPERM" }
func (noPermission) Permanent() bool { return true }
