//go:build unix

package instance

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// distancesEnv has the table of docs/reference/benchmarks.md measured, which takes three minutes.
const distancesEnv = "REDLOCK_DISTANCES"

// distance is one client of three servers at a distance, with the default Config, and what it found.
type distance struct {
	t        *testing.T
	trips    []time.Duration // to each server
	opt      redis.Options
	servers  []*instancetest.Server
	links    []*redisproc.Link
	took     []time.Duration // for each lock of a busy client
	paused   []time.Duration // for each lock after a pause that is longer than any connection's life
	failed   []error
	handed   int // leases that were kept for ten TTLs and then handed to another client
	verified string
}

const (
	locks  = 30              // of a busy client
	pauses = 3               // with one lock after each
	pause  = 8 * time.Second // ConnLife is 5 s
	// pausedSlack is how much longer than a busy client's median that of the locks after a pause may be. From a
	// distance of 34 ms on, a second round trip takes longer.
	pausedSlack = 25 * time.Millisecond
)

// TestDistances: at each distance, and with each way to connect, locks are taken, kept for ten TTLs
// while connections are renewed, and handed to a waiter; or the first error names the
// InstanceTimeout to set. Up to 80 ms a lock after a pause takes one round trip. No key is left.
func TestDistances(t *testing.T) {
	if os.Getenv(distancesEnv) == "" {
		t.Skip(distancesEnv + "=1 measures the table, on a machine with nothing else to do")
	}
	const ms = time.Millisecond
	ca := newAuthority(t)
	var all sync.WaitGroup
	var rows [][]*distance
	for _, trips := range [][]time.Duration{{0}, {ms}, {10 * ms}, {34 * ms}, {60 * ms}, {80 * ms}, {ms, ms, 80 * ms}, {ms, 80 * ms, 150 * ms}, {150 * ms}, {300 * ms}} {
		var row []*distance
		for _, opt := range []redis.Options{
			{}, {Password: "secret"},
			{TLSConfig: &tls.Config{RootCAs: ca.pool()}}, {Password: "secret", TLSConfig: &tls.Config{RootCAs: ca.pool()}},
		} {
			d := &distance{t: t, trips: trips, opt: opt}
			d.start(ca)
			row = append(row, d)
			all.Go(d.measure)
		}
		rows = append(rows, row)
	}
	all.Wait()
	for _, row := range rows {
		var medians []string
		var busy, paused []time.Duration
		var failed, handed int
		for _, d := range row {
			medians = append(medians, inMilliseconds(median(d.took)))
			paused = append(paused, d.paused...)
			busy = append(busy, d.took...)
			failed, handed = failed+len(d.failed), handed+d.handed
		}
		if slices.Max(row[0].trips) <= 80*ms {
			assert.Greater(t, len(paused), len(row)*pauses*3/4, "%v: locks after a pause", row[0].trips)
			assert.Less(t, median(paused), median(busy)+pausedSlack, "%v: a lock after a pause takes more than a round trip", row[0].trips)
		}
		slowest := "none"
		if len(paused) > 0 {
			slowest = inMilliseconds(slices.Max(paused))
		}
		fmt.Printf("| %v | %s | %d, slowest %s | %d | %d | %s |\n", row[0].trips, strings.Join(medians, " | "), len(paused), slowest, failed, handed, row[0].verified)
		for _, d := range row {
			if len(d.failed) > 0 {
				fmt.Println("   the first of", len(d.failed), "errors:", d.failed[0])
			}
		}
	}
}

// start starts the servers, each behind a link.
func (d *distance) start(ca *authority) {
	for i := range 3 {
		var args []string
		if d.opt.Password != "" {
			args = []string{"--requirepass", d.opt.Password}
		}
		var s *instancetest.Server
		var addr string
		if d.opt.TLSConfig != nil {
			s, addr = secure(d.t, ca, "127.0.0.1", inAnHour(), args...)
			addr = strings.TrimPrefix(addr, "rediss://")
		} else {
			s = instancetest.Start(d.t, instancetest.Config{Args: args})
			addr = s.Addr()
		}
		link, err := redisproc.NewLink(addr)
		require.NoError(d.t, err)
		d.t.Cleanup(func() { _ = link.Close() })
		trip := d.trips[min(i, len(d.trips)-1)]
		link.Far(trip)
		d.servers, d.links = append(d.servers, s), append(d.links, link)
	}
}

// client is a Coordinator with connections of its own.
func (d *distance) client(ctx context.Context) (c *quorum.Coordinator, close func()) {
	var instances []wire.Instance
	var clients []*redis.Client
	for _, l := range d.links {
		opt := d.opt
		opt.Addr = l.Addr()
		clients = append(clients, redis.NewClient(Harden(&opt)))
		r, err := New(clients[len(clients)-1], Config{})
		assert.NoError(d.t, err)
		instances = append(instances, r)
	}
	c, err := quorum.New(quorum.Config{}, instances...)
	assert.NoError(d.t, err)
	assert.NoError(d.t, c.Trust(ctx))
	return c, func() {
		assert.NoError(d.t, c.Close(ctx))
		for _, inst := range instances {
			assert.NoError(d.t, inst.(*Redis).Close())
		}
		for _, client := range clients {
			_ = client.Close()
		}
	}
}

func (d *distance) measure() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	c, end := d.client(ctx)
	for range locks {
		d.try(ctx, c, &d.took)
	}
	for range pauses {
		time.Sleep(pause)
		d.try(ctx, c, &d.paused)
	}
	if report, err := c.Verify(ctx); assert.NoError(d.t, err) {
		var notes []string
		for _, r := range report.Instances {
			for _, note := range r.Notes {
				if strings.Contains(note, "InstanceTimeout") {
					notes = append(notes, r.Name+": "+note)
				}
			}
		}
		d.verified = strings.Join(notes, "; ")
	}
	if len(d.took) > 0 {
		d.keep(ctx, c)
	}
	end()
	for _, s := range d.servers {
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: d.opt.Password})
		assert.Eventually(d.t, func() bool { return client.Exists(ctx, "k").Val() == 0 }, 10*time.Second, 10*time.Millisecond, "a key is left")
		_ = client.Close()
	}
}

// try takes and gives back the lock, and notes how long it took to take it.
func (d *distance) try(ctx context.Context, c *quorum.Coordinator, took *[]time.Duration) {
	began := time.Now()
	lease, err := c.TryAcquire(ctx, "k")
	taken := time.Since(began)
	if err == nil {
		*took = append(*took, taken)
		err = lease.Release(ctx)
	}
	if err != nil {
		d.failed = append(d.failed, err)
	}
}

// keep keeps a lease for ten TTLs and hands it to a waiter of another client.
func (d *distance) keep(ctx context.Context, c *quorum.Coordinator) {
	other, end := d.client(ctx)
	defer end()
	lease, err := c.Acquire(ctx, "k")
	if !assert.NoError(d.t, err) {
		return
	}
	lease.KeepAlive()
	waited := make(chan error, 1)
	go func() {
		next, err := other.Acquire(ctx, "k")
		if err == nil {
			_ = next.Release(ctx)
		}
		waited <- err
	}()
	select {
	case <-lease.Context().Done():
		assert.NoError(d.t, context.Cause(lease.Context()), "%v", d.trips)
	case <-time.After(10 * c.Config().TTL):
	}
	_ = lease.Release(ctx) // unconfirmed, if an answer was late
	if assert.NoError(d.t, <-waited) {
		d.handed++
	}
}

func median(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(took))[len(took)/2]
}

func inMilliseconds(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond))
}
