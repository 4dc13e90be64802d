//go:build unix

package box

import (
	"context"
	"net/http"
	"time"
)

// FleetFault is a fault of a Fleet's servers.
type FleetFault struct {
	// Name is the fault's name. Values is an example of its values as JSON, "" if it takes none.
	Name, Values string
	// Does is what it does to clients. Healed is what they see when it is healed, "" if it is over at once.
	Does, Healed string

	least, most time.Duration // of FaultValues.MS; 0 if it takes none
	apply, heal func(ctx context.Context, m *Member, v FaultValues) error
}

// FaultValues are the values of a fault.
type FaultValues struct {
	// MS is a time in milliseconds, nil without one.
	MS *int64 `json:"ms,omitempty"`
	// Data says what becomes of a stopped server's data: "lost" or "kept".
	Data string `json:"data,omitempty"`
}

// long is MS, 0 without one.
func (v FaultValues) long() time.Duration {
	if v.MS == nil {
		return 0
	}
	return time.Duration(*v.MS) * time.Millisecond
}

// dataKept and dataLost are what may become of a stopped server's data.
const (
	dataKept = "kept"
	dataLost = "lost"
)

// The faults that others depend on.
const (
	faultStop  = "stop"
	faultPause = "pause"
	faultClock = clockFault
	faultFlush = "flush"
)

// FleetFaults describes all faults of a Fleet.
func FleetFaults() []FleetFault {
	const year = 365 * 24 * time.Hour
	does := func(do verb) func(context.Context, *Member, FaultValues) error {
		return func(ctx context.Context, m *Member, _ FaultValues) error { return m.server.does(ctx, do) }
	}
	far := func(_ context.Context, m *Member, v FaultValues) error { m.link.Far(v.long()); return nil }
	clock := func(_ context.Context, m *Member, v FaultValues) error {
		if real, err := m.server.real(); err == nil && real.machine != nil {
			real.machine.set(v.long())
		}
		return nil
	}
	return []FleetFault{
		{
			Name: faultStop, Values: `{"data":"kept"}`, apply: stops, heal: does(start),
			Does:   "The server is killed (SIGKILL), and its data is lost unless you keep it. Connections break, and new ones are closed at once.",
			Healed: "It starts again: empty, or with all that it had answered.",
		},
		{
			Name: faultPause, apply: does(hang), heal: does(wake),
			Does:   "The server stands still (SIGSTOP). Connections open, and nothing is answered.",
			Healed: "It goes on, and carries out what it was sent in the meantime, even by clients that have given up.",
		},
		{
			Name:   "cut",
			Does:   "Connections break, and new ones are closed at once. The server goes on, and keys expire.",
			Healed: "New connections work.",
			apply:  func(_ context.Context, m *Member, _ FaultValues) error { m.link.Cut(); return nil },
			heal:   func(_ context.Context, m *Member, _ FaultValues) error { m.link.Reopen(); return nil },
		},
		{
			Name: "delay", Values: `{"ms":200}`, least: time.Millisecond, most: time.Minute, apply: far, heal: far,
			Does:   "Each answer is late by this many milliseconds, 1 to 60000, half of them on the way to the server. A new connection adds the same delay. A client that doesn't wait for an answer before it sends again may wait for twice as long.",
			Healed: "What is on its way arrives at once.",
		},
		{
			Name: faultClock, Values: `{"ms":60000}`, least: -year, most: year, apply: clock, heal: clock,
			Does:   "The server's clock is ahead by this many milliseconds, or behind if the number is negative, up to a year: keys expire too early, or too late.",
			Healed: "The clock is right. Keys that have expired stay gone.",
		},
		{
			Name: faultFlush, Does: "All keys are gone. Connections stay.",
			apply: func(_ context.Context, m *Member, _ FaultValues) error { return m.server.command("FLUSHALL") },
		},
	}
}

// stops kills a server. It stands still no longer, and what is lost stays lost.
func stops(ctx context.Context, m *Member, v FaultValues) error {
	if err := m.server.does(ctx, stop); err != nil {
		return err
	}
	delete(m.Faults, faultPause)
	if real, err := m.server.real(); err == nil && v.Data != dataKept {
		return real.wipe()
	}
	return nil
}

// fits says what is wrong with values of the fault.
func (f FleetFault) fits(v FaultValues) error {
	bad := func(format string, args ...any) error { return refuse(http.StatusBadRequest, format, args...) }
	switch {
	case v.Data != "" && f.Name != faultStop:
		return bad(`%s takes no "data"`, f.Name)
	case v.Data != "" && v.Data != dataKept && v.Data != dataLost:
		return bad(`data is %q, want %q or %q`, v.Data, dataLost, dataKept)
	case v.MS != nil && f.most == 0:
		return bad(`%s takes no "ms"`, f.Name)
	case v.MS == nil && f.most != 0:
		return bad("%s needs a time in the request's body, such as %s", f.Name, f.Values)
	case v.MS != nil && (*v.MS < f.least.Milliseconds() || *v.MS > f.most.Milliseconds()):
		return bad("ms is %d, want %d to %d for %s", *v.MS, f.least.Milliseconds(), f.most.Milliseconds(), f.Name)
	case v.MS != nil && *v.MS == 0:
		return bad("ms is 0, which is no %s", f.Name)
	}
	return nil
}
