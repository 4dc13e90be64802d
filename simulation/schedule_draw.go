package simulation

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
)

// Draw draws a random schedule from a seed: first those of the kinds of faults that the run
// has, then up to most faults of these kinds within span. Runs with few kinds find bugs that
// runs with all kinds hide ("swarm testing"). Without kinds there are no faults.
func Draw(seed uint64, cfg Config, of []fault.Kind, most int, span time.Duration) Schedule {
	cfg = cfg.complete()
	of = slices.DeleteFunc(slices.Clone(of), func(k fault.Kind) bool { return k == fault.Lag && cfg.Replicas == 0 })
	if len(of) == 0 || most < 1 {
		return nil
	}
	var kinds []fault.Kind
	for i, k := range of {
		if kernel.Draw(seed, kernel.TagSchedule, uint64(i))%4 == 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		kinds = append(kinds, of[kernel.Draw(seed, kernel.TagSchedule, 101)%uint64(len(of))])
	}
	n := 1 + int(kernel.Draw(seed, kernel.TagSchedule, 100)%uint64(most))
	s := make(Schedule, n)
	for i := range s {
		d := drawer{seed: seed, n: uint64(i), cfg: cfg}
		s[i] = d.fault(kinds[d.pick(0, len(kinds))], span)
	}
	return s
}

// drawer draws one fault.
type drawer struct {
	seed, n uint64
	cfg     Config
}

func (d drawer) draw(what uint64) uint64 {
	return kernel.Draw(d.seed, kernel.TagSchedule, 200+d.n, what)
}
func (d drawer) pick(what uint64, n int) int           { return int(d.draw(what) % uint64(n)) }
func (d drawer) coin(what uint64) bool                 { return d.pick(what, 2) == 0 }
func (d drawer) of(what uint64, names []string) string { return names[d.pick(what, len(names))] }

// length draws on a logarithmic scale, because a uniform draw would make half of all
// faults longer than half of the maximum. It uses the numbers what and what+1.
func (d drawer) length(what uint64, most time.Duration) time.Duration {
	l := most >> d.pick(what, 8)
	return time.Duration(d.draw(what+1) % (uint64(l) + 1)).Truncate(time.Microsecond)
}

// operation draws the operation of a fault: the n-th of all operations, or of a kind.
func (d drawer) operation() (op string, nth int) {
	op = d.of(34, []string{"", "", "", "acquire", "extend", "release", "read", "write", "write"})
	if op == "" {
		return op, 1 + d.pick(7, 40)
	}
	return op, 1 + d.pick(7, 8)
}

// fault draws a fault of a kind. Each draw has its own number, so that a new field leaves
// the others unchanged.
func (d drawer) fault(kind fault.Kind, span time.Duration) fault.Fault {
	ttl := d.cfg.Quorum.TTL
	f := fault.Fault{Kind: kind, At: time.Duration(d.draw(1) % uint64(max(1, span))).Truncate(time.Microsecond)}
	process, server := d.of(3, d.cfg.processNames()), d.of(4, d.cfg.serverNames())
	longer := d.length(10, 2*ttl)
	switch kind {
	case fault.Pause, fault.Suspend:
		f.Process, f.For = process, longer
		f.Frozen = kind == fault.Suspend && d.coin(30)
		if d.coin(6) {
			f.Op, f.Nth = d.operation()
		}
	case fault.Crash:
		f.Process = process
		f.Op, f.Nth = d.operation()
	case fault.Reboot:
		f.Process, f.For = process, d.length(10, ttl)
		if d.coin(6) {
			f.Op, f.Nth = d.operation()
		}
	case fault.Step, fault.Rate:
		if d.coin(9) {
			f.Process = process
		} else {
			f.Server = server
		}
		if kind == fault.Rate {
			f.PPM = int64(d.pick(21, 200_001)) - 100_000
			break
		}
		if f.By = d.length(20, 2*ttl); d.coin(8) {
			f.By = -f.By
		}
	case fault.Restart:
		f.Server, f.For, f.Keep = server, longer, keeps[d.pick(22, len(keeps))]
	case fault.Hang:
		f.Server, f.For = server, longer
	case fault.Failover, fault.SplitBrain:
		f.Server, f.For = server, d.length(10, ttl)
		if kind == fault.SplitBrain {
			f.Process, f.For = process, longer+1 // 0 is forever
		}
		if d.cfg.Replicas > 0 {
			f.Replica = 1 + d.pick(31, d.cfg.Replicas)
		} else {
			f.By = d.length(20, 2*time.Second)
		}
	case fault.Lag:
		f.Server, f.For, f.Replica = server, longer, d.pick(31, d.cfg.Replicas+1)
		if d.coin(8) {
			f.By = d.length(20, ttl)
		}
	case fault.Evict, fault.Flush:
		f.Server = server
	case fault.Cut, fault.Lose, fault.Delay, fault.Reorder:
		f.Process, f.Server, f.For = process, server, longer
		f.Way = []fault.Way{fault.Both, fault.Requests, fault.Replies}[d.pick(23, 3)]
		switch kind {
		case fault.Lose:
			f.PPM = int64(d.pick(24, kernel.Million))
		case fault.Delay, fault.Reorder:
			f.By = d.length(20, ttl)
		}
		if kind == fault.Delay && f.Way == fault.Both && d.coin(6) {
			f.For = 0
			f.Op, f.Nth = d.operation()
			f.Server = []string{fault.Any, fault.Resource, server}[d.pick(33, 3)]
		}
	case fault.Switch:
		f.Process, f.Server, f.For = fault.Any, server, longer+1
		if d.coin(5) {
			f.Process = process
		}
	case fault.Duplicate:
		f.Process, f.Server, f.For = process, server, longer
		if d.coin(32) {
			f.Server = fault.Resource
		}
		f.PPM, f.By = int64(d.pick(24, kernel.Million)), d.length(20, ttl)
		if d.coin(6) {
			f.PPM, f.For = 0, 0
			f.Op, f.Nth = d.operation()
		}
	}
	return f
}
