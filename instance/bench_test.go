//go:build unix

package instance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

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
