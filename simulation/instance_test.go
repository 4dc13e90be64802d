package simulation

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
)

// movable is a clock that can be replaced for each part of the contract.
type movable struct{ clock.Clock }

// opened is an instance in its own simulation, with what the contract's check may do directly to
// the server. That is safe: while the check's goroutines run, the driver waits.
type opened struct {
	instance
	server *server
}

func (o opened) Put(key, value string, ttl time.Duration) {
	expires := time.Time{}
	if ttl != wire.NoExpiry {
		expires = o.server.clock().Add(ttl)
	}
	o.server.data.Keys.Put(key, value, expires)
}

func (o opened) Restart(keepData bool) {
	o.server.kill()
	if keepData {
		o.server.restart(fault.KeepAll.Until(o.p.w.Now.Load()))
	} else {
		o.server.restart(fault.KeepNothing.Until(0))
	}
}

// The simulated instance fulfills the contract of every instance, also under latencies that reorder
// requests.
func TestInstancePassesCheck(t *testing.T) {
	for name, latency := range map[string][2]time.Duration{
		"at once":   {0, time.Nanosecond},
		"as usual":  {100 * time.Microsecond, 300 * time.Microsecond},
		"reordered": {0, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			clk := new(movable)
			contract.Check(t, func(t *testing.T) wire.Instance {
				cfg := Config{Servers: 1, Processes: 1, LatencyMin: latency[0], LatencyMax: latency[1], Horizon: time.Hour, MaxEvents: 1 << 30}.complete()
				w := newWorld(1, cfg, nil, nil)
				p := w.processes[0]
				_, _ = w.Next() // the process would start: the test is the process
				clk.Clock = &p.Process
				done := make(chan struct{})
				t.Cleanup(func() {
					p.end()
					<-done
				})
				go func() {
					defer close(done)
					w.drive()
				}()
				return opened{instance: instance{p: p}, server: w.servers[0]}
			}, contract.Virtual(), contract.Clock(clk))
		})
	}
}
