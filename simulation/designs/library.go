package designs

import (
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// What follows runs the library's own code, with its switches, and with doors
// before the instances where the library has no switch.

// door changes what one of a process's instances does.
type door func(p simulation.Process, i int) wire.Instance

// library makes a Config's processes lock with a Coordinator, behind a door.
func library(d door) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			instances := make([]wire.Instance, len(p.Instances))
			for i := range instances {
				instances[i] = d(p, i)
			}
			return newLibrary(p, instances)
		}
	}
}

func newLibrary(p simulation.Process, instances []wire.Instance) (simulation.Locker, error) {
	c, err := quorum.New(p.Config, instances...)
	if err != nil {
		return nil, err
	}
	return simulation.Library(c), nil
}

// withoutTopUp is an instance on which no lease is put back once it is gone. The
// Redis document knows no such thing: an instance that lost its key, or granted it
// too late, stays without.
type withoutTopUp struct{ wire.Instance }

func (i withoutTopUp) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if cmd.Op == wire.Restore {
		to.Receive(wire.Vote{Outcome: wire.Refused})
		return
	}
	i.Instance.Send(cmd, timeout, to)
}

// asDocument sets the switches to what the Redis document has: Redlock and nothing
// more.
func asDocument(cfg *simulation.Config) {
	cfg.Guard = simulation.Unguarded
	cfg.Quorum.Fencing = quorum.Off
	cfg.Quorum.RestartQuarantine = quorum.Off
	cfg.Quorum.ClockMonitor = quorum.Off
	cfg.Quorum.Cohorts = quorum.Off
	library(func(p simulation.Process, i int) wire.Instance { return withoutTopUp{p.Instances[i]} })(cfg)
}

// and puts one change after another.
func and(changes ...func(*simulation.Config)) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		for _, change := range changes {
			change(cfg)
		}
	}
}

// The features, each on top of those before it.

func quarantine(cfg *simulation.Config) { cfg.Quorum.RestartQuarantine = quorum.On }

func monitor(cfg *simulation.Config) { cfg.Quorum.ClockMonitor = quorum.On }

// topUp takes the door away, and keeps leases alive: it is with an extension that
// a lease is put back.
func topUp(cfg *simulation.Config) {
	cfg.Locker = nil
	cfg.Quorum.KeepAlive = true
}

// oneByOne has a round, and a token, for each lease.
func oneByOne(cfg *simulation.Config) { cfg.Quorum.Cohorts = quorum.Off }

func fenced(cfg *simulation.Config) { cfg.Quorum.Fencing = quorum.On }

func guarded(how simulation.Guarding) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Guard = how }
}

// asIs is the library as its users get it from quorum.Config{}.
func asIs(cfg *simulation.Config) {
	cfg.Guard, cfg.Locker = simulation.Unguarded, nil
	cfg.Quorum.Fencing, cfg.Quorum.RestartQuarantine, cfg.Quorum.ClockMonitor = quorum.On, quorum.On, quorum.On
	cfg.Quorum.Cohorts = quorum.On
}
