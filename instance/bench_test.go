//go:build unix

package instance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// BenchmarkDo is an acquire and a release, each with a timeout, as in a round of the Coordinator.
// The difference without a run is the cost of naming the run.
func BenchmarkDo(b *testing.B) {
	for _, kind := range []string{"fenced", "fenced without a run", "bare", "bare without a run"} {
		b.Run(kind, func(b *testing.B) {
			s := instancetest.Start(b, instancetest.Config{Unix: true})
			r := open(b, s.URL(), Config{})
			req, release := acquire("k", "v"), request(wire.Release, "k", "v")
			if req.Fence.On = strings.HasPrefix(kind, "fenced"); !strings.HasSuffix(kind, "without a run") {
				req.Run = runOf(b, r)
			}
			b.ReportAllocs()
			defer serverTime(b, s, 1)()
			for b.Loop() {
				for _, req := range []wire.Request{req, release} {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
					if v := r.Do(ctx, req); v.Outcome != wire.Granted {
						b.Fatal(v.Err)
					}
					cancel()
				}
			}
		})
	}
}

// serverTime reports the processor time that the server spends on a lock.
func serverTime(b *testing.B, s *instancetest.Server, locks int) func() {
	spent := func() float64 {
		info := s.MustAsk("INFO", "cpu")
		user, _ := strconv.ParseFloat(infoField(info, "used_cpu_user"), 64)
		system, _ := strconv.ParseFloat(infoField(info, "used_cpu_sys"), 64)
		return user + system
	}
	before := spent()
	return func() { b.ReportMetric(1e6*(spent()-before)/float64(b.N*locks), "server-us/lock") }
}

// BenchmarkList is as many acquires and releases in one batch each: the time per lock of the
// scripts and of making their lists, without waiting for others.
func BenchmarkList(b *testing.B) {
	for _, name := range []string{"1", "16", "64", "1 without a run", "16 without a run", "64 without a run"} {
		number, without, _ := strings.Cut(name, " ")
		n, _ := strconv.Atoi(number)
		b.Run(name, func(b *testing.B) {
			s := instancetest.Start(b, instancetest.Config{Unix: true})
			for _, script := range []*script{acquireScript, releaseScript} {
				s.MustAsk("SCRIPT", "LOAD", script.source)
			}
			r := open(b, s.URL(), Config{})
			require.Equal(b, wire.Granted, r.Do(within(b), wire.Request{Op: wire.Tick}).Outcome)
			r.pipe.mu.Lock()
			conn, _ := r.pipe.takeLocked()
			r.pipe.mu.Unlock()
			acquires, releases := &batch{pipe: &r.pipe, conn: conn}, &batch{pipe: &r.pipe, conn: conn}
			for i := range n {
				req := acquire(fmt.Sprint("k", i), value())
				if without == "" {
					req.Run = runOf(b, r)
				}
				acquires.calls = append(acquires.calls, r.newCall(req))
				releases.calls = append(releases.calls, r.newCall(request(wire.Release, req.Key, req.Value)))
			}
			b.ReportAllocs()
			defer serverTime(b, s, n)()
			for b.Loop() {
				for _, b1 := range []*batch{acquires, releases} {
					b1.written = false
					if err := b1.roundTrip(); err != nil {
						b.Fatal(err)
					}
					for _, c := range b1.calls {
						if c.vote.Outcome != wire.Granted {
							b.Fatal(c.vote.Err)
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/lock")
		})
	}
}
