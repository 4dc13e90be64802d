package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation/redismodel"
)

// Config is the world that a run takes place in. The zero Config is ready to use.
type Config struct {
	// Servers is the number of instances, 1 to 26. Default 5.
	Servers int
	// Processes is the number of client processes, 1 to 64. Default 2.
	Processes int

	// Quorum configures each process's Coordinator. Clock, Random, Owner and
	// Hooks are the simulation's own.
	Quorum quorum.Config

	// Latency bounds the one-way latency of each message, drawn uniformly: 0 to a
	// minute. Default 200 µs to 2 ms.
	LatencyMin, LatencyMax time.Duration

	// Locker creates each process's lock. Default: the library's Coordinator on all
	// servers.
	Locker func(Process) (Locker, error)

	// Scripts maps the texts of Lua scripts for EVAL to their Go forms, in addition to
	// redismodel.CompareDel and CompareExpire.
	Scripts map[string]redismodel.Script

	// Guard protects the resource. Default: no guard.
	Guard Guarding

	// Eviction is the eviction policy that the servers report. Default "noeviction".
	// Only an Evict fault evicts keys.
	Eviction string

	// HideRunID makes servers hide their run ID and replication ID, as hosted servers
	// may. Then the library detects a restart only by the uptime, and cannot detect a
	// failover or an older counter.
	HideRunID bool

	// Replicas is the number of replicas of each server, 0 to 5. They get its changes
	// in order, 500 µs to 5 ms later. A Lag fault keeps them back for longer.
	Replicas int

	// SemiSync makes servers delay the reply to a change until a replica has it, at
	// most for this long. After a timeout they don't wait until a replica has caught
	// up, as in semi-synchronous replication. 0 to a minute, 0 for no waiting.
	SemiSync time.Duration

	// Progress is how long processes may fail to get a free lock, with a quorum of
	// healthy and reachable servers, before NoProgress is reported. Default three times
	// the longest TTL, below zero never.
	Progress time.Duration

	// Witness adds a client that tries to get every requested lock, some time after
	// the last process and the last fault have ended. If it fails, the lock is never
	// free again.
	Witness bool

	// Horizon is the virtual time at which a run is aborted. Default 10 min after the
	// start of the last fault.
	Horizon time.Duration

	// MaxEvents is the number of events after which a run is aborted. Default 1 000 000.
	MaxEvents int
}

func (c Config) complete() Config {
	c.Servers, c.Processes = cmp.Or(c.Servers, 5), cmp.Or(c.Processes, 2)
	if c.LatencyMin == 0 && c.LatencyMax == 0 {
		c.LatencyMin, c.LatencyMax = 200*time.Microsecond, 2*time.Millisecond
	}
	c.Quorum.TTL = cmp.Or(c.Quorum.TTL, 10*time.Second)
	// As short as possible, so that quarantines and runs are short.
	c.Quorum.MaxTTL = cmp.Or(c.Quorum.MaxTTL, c.Quorum.TTL)
	c.Progress = cmp.Or(c.Progress, 3*max(c.Quorum.TTL, c.Quorum.MaxTTL))
	c.Eviction, c.MaxEvents = cmp.Or(c.Eviction, "noeviction"), cmp.Or(c.MaxEvents, 1_000_000)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Servers < 1 || c.Servers > 26:
		return fmt.Errorf("%w: Servers is %d, want 1 to 26: they are named A to Z", ErrConfig, c.Servers)
	case c.Processes < 1 || c.Processes > 64:
		return fmt.Errorf("%w: Processes is %d, want 1 to 64", ErrConfig, c.Processes)
	case c.LatencyMin < 0 || c.LatencyMax < c.LatencyMin || c.LatencyMax > time.Minute:
		return fmt.Errorf("%w: LatencyMin is %v and LatencyMax %v, want 0 <= LatencyMin <= LatencyMax <= 1m", ErrConfig, c.LatencyMin, c.LatencyMax)
	case c.Horizon < 0 || c.MaxEvents < 0:
		return fmt.Errorf("%w: Horizon %v, MaxEvents %d: none may be negative", ErrConfig, c.Horizon, c.MaxEvents)
	case c.Replicas < 0 || c.Replicas > 5:
		return fmt.Errorf("%w: Replicas is %d, want 0 to 5", ErrConfig, c.Replicas)
	case c.SemiSync < 0 || c.SemiSync > time.Minute:
		return fmt.Errorf("%w: SemiSync is %v, want 0 to 1m", ErrConfig, c.SemiSync)
	case c.SemiSync > 0 && c.Replicas == 0:
		return fmt.Errorf("%w: SemiSync is %v without Replicas: there is no replica to wait for", ErrConfig, c.SemiSync)
	case !slices.Contains([]Guarding{Unguarded, GuardWrites, GuardAdmits, GuardIdempotent, GuardRepeats}, c.Guard):
		return fmt.Errorf("%w: no such Guard %q", ErrConfig, c.Guard)
	}
	return nil
}

func (c Config) serverNames() []string {
	names := make([]string, c.Servers)
	for i := range names {
		names[i] = string(rune('A' + i))
	}
	return names
}

func (c Config) processNames() []string {
	names := make([]string, c.Processes)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i+1)
	}
	return names
}

// ErrConfig is wrapped by the error for a Config or a Schedule that can't be played.
var ErrConfig = errors.New("simulation: bad configuration")

// Guarding is the kind of guard of the resource.
type Guarding string

// The guards.
const (
	// Unguarded: every request is executed.
	Unguarded Guarding = ""
	// GuardWrites refuses a write whose token is below the largest token of an earlier
	// write. Reads pass and don't raise the mark.
	GuardWrites Guarding = "writes"
	// GuardAdmits is GuardWrites, and reads raise the mark too: after the first read of
	// a holder, no earlier holder can write.
	GuardAdmits Guarding = "admits"
	// GuardIdempotent is GuardAdmits on a resource that numbers the writes of each
	// lease. A repeated write gets the earlier reply and isn't executed again. A write
	// that arrives after a later write of its own lease is refused. A Write of the same
	// value and version as the previous one under the same lease is a repetition.
	GuardIdempotent Guarding = "idempotent"
	// GuardRepeats numbers writes as GuardIdempotent does, and ignores tokens.
	GuardRepeats Guarding = "repeats"
)

// Tokens reports whether the guard checks tokens.
func (g Guarding) Tokens() bool { return g != Unguarded && g != GuardRepeats }

// numbers reports whether the resource numbers writes.
func (g Guarding) numbers() bool { return g == GuardIdempotent || g == GuardRepeats }
