package designs

import (
	"context"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
)

// The designs below run the library's own code with its switches, and with wrappers around the
// instances where the library has no switch.

// wrapper wraps an instance of a process.
type wrapper func(p simulation.Process, i int) wire.Instance

// library configures processes to use a Coordinator with wrapped instances.
func library(wrap wrapper) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
			instances := make([]wire.Instance, len(p.Instances))
			for i := range instances {
				instances[i] = wrap(p, i)
			}
			p.Instances = instances
			return simulation.Library(p)
		}
	}
}

// plain is an instance on which no lease is restored, and no sets are compared. In the Redis document
// an instance that lost its key, or granted it too late, stays without, and knows no sets.
type plain struct{ wire.Instance }

func (i plain) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if cmd.Op == wire.Restore {
		to.Receive(wire.Vote{Outcome: wire.Refused})
		return
	}
	i.Instance.Send(cmd, timeout, to)
}

func (i plain) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	known.Set = wire.Set{}
	return i.Instance.Probe(ctx, known)
}

// asDocument sets the switches as in the Redis document.
func asDocument(cfg *simulation.Config) {
	cfg.Guard = simulation.Unguarded
	cfg.Quorum.Lab.Fencing = quorum.Off
	cfg.Quorum.Lab.RestartQuarantine = quorum.Off
	cfg.Quorum.Lab.ClockMonitor = quorum.Off
	library(func(p simulation.Process, i int) wire.Instance { return plain{p.Instances[i]} })(cfg)
}

// and performs changes in turn.
func and(changes ...func(*simulation.Config)) func(*simulation.Config) {
	return func(cfg *simulation.Config) {
		for _, change := range changes {
			change(cfg)
		}
	}
}

// The features, each on top of the previous ones.

func quarantine(cfg *simulation.Config) { cfg.Quorum.Lab.RestartQuarantine = quorum.On }

func monitor(cfg *simulation.Config) { cfg.Quorum.Lab.ClockMonitor = quorum.On }

// topUp removes the wrapper and keeps leases alive, because an extension restores a lease.
func topUp(cfg *simulation.Config) {
	cfg.Locker = nil
	cfg.Quorum.KeepAlive = true
}

func fenced(cfg *simulation.Config) { cfg.Quorum.Lab.Fencing = quorum.On }

func guarded(how simulation.Guarding) func(*simulation.Config) {
	return func(cfg *simulation.Config) { cfg.Guard = how }
}

// asIs is the library with quorum.Config{}.
func asIs(cfg *simulation.Config) {
	cfg.Guard, cfg.Locker = simulation.Unguarded, nil
	cfg.Quorum.Lab.Fencing, cfg.Quorum.Lab.RestartQuarantine, cfg.Quorum.Lab.ClockMonitor = quorum.On, quorum.On, quorum.On
}
