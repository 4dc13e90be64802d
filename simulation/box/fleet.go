//go:build unix

package box

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// Fleet is independent servers for a test suite that has its own clients. Each server stands behind a link, and
// breaks on request: a Fleet is an http.Handler that takes faults. docs/reference/servers.md is its manual.
type Fleet struct {
	live    context.Context // ends the starts of servers
	library library
	servers *servers
	api     *http.ServeMux

	mu      sync.Mutex
	members []*Member
	closed  bool
}

// Member is a server of a Fleet, and what is done to it, as the Fleet tells it.
type Member struct {
	// Name is a letter: A, B, C.
	Name string `json:"name"`
	// Address is where clients reach it, host:port. It never changes.
	Address string `json:"address"`
	// Faults are those that are applied now, with their values.
	Faults map[string]FaultValues `json:"faults"`

	server *serverState
	link   *redisproc.Link
}

// told copies what there is to tell of members.
func told(members []*Member) []Member {
	all := []Member{}
	for _, m := range members {
		all = append(all, Member{Name: m.Name, Address: m.Address, Faults: maps.Clone(m.Faults)})
	}
	return all
}

// StartFleet starts the servers that o.Servers, 1 to 9, and o.Binary, o.Args and o.Embedded describe. They
// get clocks of their own where that is possible. All that a server has answered is on its disk, for a fault that
// keeps its data. The end of ctx ends the starts of servers, now and later, and nothing else.
//
// The error Is ErrOptions, or redisproc.ErrMissing if there is no server program, or that of ctx. Then
// nothing is left behind.
func StartFleet(ctx context.Context, o Options) (*Fleet, error) {
	if o.Servers < 1 || o.Servers > len(letters) {
		return nil, fmt.Errorf("%w: %d servers, want 1 to %d", ErrOptions, o.Servers, len(letters))
	}
	f := &Fleet{live: ctx, servers: &servers{}}
	f.api = f.routes()
	if err := f.start(o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Fleet) start(o Options) (err error) {
	o.persist = true
	if !o.Embedded {
		if err := f.library.build(f.live); err != nil {
			return err
		}
	}
	all, err := f.library.start(f.live, o)
	if err != nil {
		return err
	}
	f.servers = all
	for i, server := range all.all {
		link, err := redisproc.NewLink(server.Addr())
		if err != nil {
			return err
		}
		f.members = append(f.members, &Member{Name: letters[i : i+1], Address: link.Addr(), Faults: map[string]FaultValues{}, server: server, link: link})
	}
	return nil
}

// Product is what the servers are, such as "redis 7.0.15" or "embedded servers".
func (f *Fleet) Product() string { return f.servers.what }

// Members returns the servers. Their Faults are those of now.
func (f *Fleet) Members() []Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return told(f.members)
}

// Close ends the servers and their links. A second call does nothing.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var errs []error
	for _, m := range f.members {
		errs = append(errs, m.link.Close())
	}
	return errors.Join(append(errs, f.servers.close(), f.library.close())...)
}

// named returns the servers of a name such as "A", "AC" or "all".
func (f *Fleet) named(name string) (chosen []*Member, err error) {
	if name == "all" {
		return f.members, nil
	}
	known := letters[:len(f.members)]
	if name == "" || strings.Trim(name, known) != "" {
		return nil, refuse(http.StatusNotFound, "no server %q: want some of the letters %s, or all", name, known)
	}
	return slices.DeleteFunc(slices.Clone(f.members), func(m *Member) bool { return !strings.Contains(name, m.Name) }), nil
}

// apply applies a fault to servers. If one of them can't have it, none gets it.
func (f *Fleet) apply(members []*Member, fault FleetFault, v FaultValues) error {
	if err := fault.fits(v); err != nil {
		return err
	}
	for _, m := range members {
		if err := f.refuses(m, fault, v); err != nil {
			return err
		}
	}
	for _, m := range members {
		now := v
		if fault.Name == faultStop && (v.Data == "" || m.Faults[faultStop].Data == dataLost) {
			now.Data = dataLost // what is lost stays lost
		}
		if err := fault.apply(f.live, m, now); err != nil {
			return err
		}
		if fault.heal != nil {
			m.Faults[fault.Name] = now
		}
	}
	return nil
}

// refuses says why a server can't have a fault.
func (f *Fleet) refuses(m *Member, fault FleetFault, v FaultValues) error {
	real, isEmbedded := m.server.real()
	switch {
	case isEmbedded != nil && (fault.Name == faultClock || v.Data == dataKept):
		return refuse(http.StatusNotImplemented, "%v; start redlocksim servers where redis-server is installed", errEmbedded)
	case fault.Name == faultClock && real.machine == nil:
		return refuse(http.StatusNotImplemented, "%s", f.library.why())
	}
	var inTheWay string
	switch {
	case m.server.state == stopped && (fault.Name == faultPause || fault.Name == faultFlush):
		inTheWay = faultStop
	case m.server.state == hung && fault.Name == faultFlush:
		inTheWay = faultPause
	default:
		return nil
	}
	return refuse(http.StatusConflict, "%s can't have %s now because of %s: heal that first, by DELETE /servers/%s/%s", m.Name, fault.Name, inTheWay, m.Name, inTheWay)
}

// heal ends a fault of servers, if they have it.
func (f *Fleet) heal(members []*Member, fault FleetFault) error {
	if fault.heal == nil {
		return refuse(http.StatusBadRequest, "%s is over at once: there is nothing to heal", fault.Name)
	}
	for _, m := range members {
		if _, has := m.Faults[fault.Name]; !has {
			continue
		}
		if err := fault.heal(f.live, m, FaultValues{}); err != nil {
			return err
		}
		delete(m.Faults, fault.Name)
	}
	return nil
}

// reset heals everything. Data that is lost stays lost.
func (f *Fleet) reset() error {
	for _, fault := range FleetFaults() {
		if fault.heal == nil {
			continue
		}
		if err := f.heal(f.members, fault); err != nil {
			return err
		}
	}
	return nil
}
