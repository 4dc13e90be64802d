package search

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
)

// Changes is what a Setup does differently from its workload and its design. A nil
// field changes nothing.
type Changes struct {
	Servers   *int `json:"servers,omitempty"`
	Processes *int `json:"processes,omitempty"`
	// Rounds is how many rounds the workload plays: 1 to as many as it does anyway.
	Rounds *int `json:"rounds,omitempty"`

	TTL               *time.Duration `json:"ttl_ns,omitempty"`
	RestartQuarantine *bool          `json:"restart_quarantine,omitempty"`
	ClockMonitor      *bool          `json:"clock_monitor,omitempty"`
	Fencing           *bool          `json:"fencing,omitempty"`

	Guard     *simulation.Guarding `json:"guard,omitempty"`
	Witness   *bool                `json:"witness,omitempty"`
	Forgetful *bool                `json:"forgetful,omitempty"`

	LatencyMin *time.Duration `json:"latency_min_ns,omitempty"`
	LatencyMax *time.Duration `json:"latency_max_ns,omitempty"`
}

// longestTTL bounds the TTL, so that no run waits forever.
const longestTTL = 24 * time.Hour

// validate checks what a Config doesn't, or what a wrong one is used for before it
// is checked: the rest is up to simulation.Run.
func (c Changes) validate(w Workload) error {
	switch {
	case c.Rounds != nil && (*c.Rounds < 1 || *c.Rounds > w.Rounds):
		return fmt.Errorf("rounds is %d, want 1 to %d, those of the workload %q", *c.Rounds, w.Rounds, w.Name)
	case c.TTL != nil && (*c.TTL < time.Millisecond || *c.TTL > longestTTL || *c.TTL%time.Millisecond != 0):
		return fmt.Errorf("ttl_ns is %d (%v), want whole milliseconds from 1ms to %v", *c.TTL, *c.TTL, longestTTL)
	case c.Servers != nil && (*c.Servers < 1 || *c.Servers > 26):
		return fmt.Errorf("servers is %d, want 1 to 26", *c.Servers)
	case c.Processes != nil && (*c.Processes < 1 || *c.Processes > 64):
		return fmt.Errorf("processes is %d, want 1 to 64", *c.Processes)
	}
	return nil
}

func (c Changes) apply(cfg *simulation.Config) {
	set(&cfg.Servers, c.Servers)
	set(&cfg.Processes, c.Processes)
	set(&cfg.Quorum.TTL, c.TTL)
	set(&cfg.Guard, c.Guard)
	set(&cfg.Witness, c.Witness)
	set(&cfg.Forgetful, c.Forgetful)
	set(&cfg.LatencyMin, c.LatencyMin)
	set(&cfg.LatencyMax, c.LatencyMax)
	turn(&cfg.Quorum.RestartQuarantine, c.RestartQuarantine)
	turn(&cfg.Quorum.ClockMonitor, c.ClockMonitor)
	turn(&cfg.Quorum.Fencing, c.Fencing)
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

func turn(field *quorum.Switch, on *bool) {
	switch {
	case on == nil:
	case *on:
		*field = quorum.On
	default:
		*field = quorum.Off
	}
}
