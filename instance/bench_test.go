//go:build unix

package instance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// BenchmarkDo is an acquire and a release, with a time-out for each, as a round
// of the Coordinator has it.
func BenchmarkDo(b *testing.B) {
	for _, fence := range []bool{true, false} {
		b.Run(map[bool]string{true: "fenced", false: "bare"}[fence], func(b *testing.B) {
			s := instancetest.Start(b, instancetest.Config{Unix: true})
			r := open(b, s.URL(), Config{})
			cmd, release := acquire("k", "v"), command(quorum.Release, "k", "v")
			cmd.Fence, cmd.Life = fence, infoField(s.MustAsk("INFO", "server"), "run_id")
			b.ReportAllocs()
			for b.Loop() {
				for _, cmd := range []quorum.Command{cmd, release} {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
					if v := r.Do(ctx, cmd); v.Outcome != quorum.Granted {
						b.Fatal(v.Err)
					}
					cancel()
				}
			}
		})
	}
}

// BenchmarkDoUnbounded is the same without time-outs, and so without a goroutine
// for each command: the difference is what heeding a cancellation costs.
func BenchmarkDoUnbounded(b *testing.B) {
	s := instancetest.Start(b, instancetest.Config{Unix: true})
	r := open(b, s.URL(), Config{})
	cmd, release := acquire("k", "v"), command(quorum.Release, "k", "v")
	b.ReportAllocs()
	for b.Loop() {
		for _, cmd := range []quorum.Command{cmd, release} {
			if v := r.Do(context.Background(), cmd); v.Outcome != quorum.Granted {
				b.Fatal(v.Err)
			}
		}
	}
}

// BenchmarkList is as many acquires and releases in one exchange each: what the
// scripts and the making of their lists take for one lock, without waiting for others.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := instancetest.Start(b, instancetest.Config{Unix: true})
			for _, script := range []*script{acquireScript, releaseScript} {
				s.MustAsk("SCRIPT", "LOAD", script.source)
			}
			r := open(b, s.URL(), Config{})
			acquires, releases := &batch{pipe: &r.pipe}, &batch{pipe: &r.pipe}
			for i := range n {
				cmd := acquire(fmt.Sprint("k", i), value())
				cmd.Life = infoField(s.MustAsk("INFO", "server"), "run_id")
				acquires.calls = append(acquires.calls, r.newCall(cmd))
				releases.calls = append(releases.calls, r.newCall(command(quorum.Release, cmd.Key, cmd.Value)))
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, exchange := range []*batch{acquires, releases} {
					exchange.sealed = false
					if err := exchange.exchange(); err != nil {
						b.Fatal(err)
					}
					for _, c := range exchange.calls {
						if c.vote.Outcome != quorum.Granted {
							b.Fatal(c.vote.Err)
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/lock")
		})
	}
}

// BenchmarkPlainClient is what go-redis alone takes for two commands: the floor.
func BenchmarkPlainClient(b *testing.B) {
	s := instancetest.Start(b, instancetest.Config{Unix: true})
	client := redis.NewClient(Harden(&redis.Options{Network: "unix", Addr: s.Addr()}))
	b.Cleanup(func() { _ = client.Close() })
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	}
}
