package search

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
)

// singles lists every single fault that could matter to the run: a fault between two events
// of the same place has the same effect as at the later event. Shorter faults come first,
// and among these the earlier ones.
func (p run) singles(s Space) ([]simulation.Fault, error) {
	result, err := p.play(context.Background(), s.Setup)
	if err != nil {
		return nil, err
	}
	m := momentsOf(result.Log)
	ttl := cmp.Or(p.cfg.Quorum.TTL, 10*time.Second)
	lengths := slices.Clone(s.Lengths)
	if len(lengths) == 0 {
		lengths = []time.Duration{ttl / 20, ttl / 2, 3 * ttl / 2}
	}
	slices.Sort(lengths)
	// Other processes are not part of the configuration.
	processes := m.processes[:min(len(m.processes), cmp.Or(p.cfg.Processes, 2))]
	servers := cmp.Or(p.cfg.Servers, 5)

	var all []simulation.Fault
	add := func(f simulation.Fault) {
		if s.allows(f.Kind) {
			all = append(all, f)
		}
	}
	for _, name := range processes {
		for nth := range m.calls[name] {
			add(simulation.Fault{Kind: simulation.Crash, Process: name, Nth: nth + 1})
		}
	}
	for _, l := range m.legs {
		add(simulation.Fault{Kind: simulation.Cut, Process: l.process, Server: l.place, Way: l.way, At: l.at, For: 1})
	}
	for i := range servers {
		name := string(rune('A' + i))
		for _, at := range m.at[name] {
			add(simulation.Fault{Kind: simulation.Evict, Server: name, At: at})
			add(simulation.Fault{Kind: simulation.Flush, Server: name, At: at})
		}
	}
	for _, l := range m.legs {
		if l.place != simulation.Resource {
			add(simulation.Fault{Kind: simulation.Reconnect, Process: l.process, Server: l.place, At: l.at})
		}
	}
	for _, l := range lengths {
		for _, name := range processes {
			for nth := range m.calls[name] {
				add(simulation.Fault{Kind: simulation.Reboot, Process: name, Nth: nth + 1, For: l})
				add(simulation.Fault{Kind: simulation.Pause, Process: name, Nth: nth + 1, For: l})
				add(simulation.Fault{Kind: simulation.Suspend, Process: name, Nth: nth + 1, For: l})
			}
			for nth := range result.Readings[name] {
				add(simulation.Fault{Kind: simulation.Pause, Process: name, Op: "clock", Nth: nth + 1, For: l})
				add(simulation.Fault{Kind: simulation.Pause, Process: name, Op: "clock", Nth: nth + 1, For: l, Stale: true})
			}
			for _, at := range m.at[name] {
				add(simulation.Fault{Kind: simulation.Step, Process: name, At: at, By: l})
				add(simulation.Fault{Kind: simulation.Step, Process: name, At: at, By: -l})
			}
		}
		for i := range servers {
			name := string(rune('A' + i))
			for _, at := range m.at[name] {
				add(simulation.Fault{Kind: simulation.Restart, Server: name, At: at, For: l})
				add(simulation.Fault{Kind: simulation.Hang, Server: name, At: at, For: l})
				add(simulation.Fault{Kind: simulation.Demote, Server: name, At: at, For: l})
				add(simulation.Fault{Kind: simulation.Switch, Process: simulation.Any, Server: name, At: at, For: l, By: 1})
				add(simulation.Fault{Kind: simulation.Failover, Server: name, At: at, By: l})
				for _, process := range processes {
					add(simulation.Fault{Kind: simulation.SplitBrain, Process: process, Server: name, At: at, For: l})
				}
				if p.cfg.Replicas > 0 {
					add(simulation.Fault{Kind: simulation.Lag, Server: name, At: at, For: l, By: l})
				}
				add(simulation.Fault{Kind: simulation.Step, Server: name, At: at, By: l})
				add(simulation.Fault{Kind: simulation.Step, Server: name, At: at, By: -l})
			}
		}
		for _, leg := range m.legs {
			add(simulation.Fault{Kind: simulation.Delay, Process: leg.process, Server: leg.place, Way: leg.way, At: leg.at, For: 1, By: l})
			if leg.way == simulation.Requests {
				add(simulation.Fault{Kind: simulation.Duplicate, Process: leg.process, Server: leg.place, At: leg.at, For: 1, By: l})
			}
		}
	}
	for _, ppm := range []int64{-100_000, 100_000} {
		for _, name := range processes {
			add(simulation.Fault{Kind: simulation.Rate, Process: name, PPM: ppm})
		}
		for i := range servers {
			add(simulation.Fault{Kind: simulation.Rate, Server: string(rune('A' + i)), PPM: ppm})
		}
	}
	return all, nil
}

// moments are the times of a run's events.
type moments struct {
	processes []string                   // in the order of their start
	calls     map[string]int             // by process: the number of requests
	at        map[string][]time.Duration // by process or server: the times of its events, each once
	legs      []leg
}

// leg is one message.
type leg struct {
	process, place string
	way            simulation.Way
	at             time.Duration // when it was sent
}

// momentsOf reads the starts of processes, the requests, and their arrivals, at which the
// replies are sent.
func momentsOf(log simulation.Log) moments {
	m := moments{calls: map[string]int{}, at: map[string][]time.Duration{}}
	for e := range log.All() {
		who, l := e.Place, leg{process: e.Process, place: e.Place, way: simulation.Replies, at: e.At}
		switch {
		case e.Process == "witness":
			continue
		case e.Kind == simulation.Started:
			m.processes = append(m.processes, e.Process)
			continue
		case e.Kind == simulation.Sent:
			who, l.way = e.Process, simulation.Requests
			m.calls[who]++
		case e.Kind != simulation.Voted && e.Kind != simulation.Answered && e.Kind != simulation.Read && e.Kind != simulation.Write:
			continue
		}
		if last := m.at[who]; len(last) == 0 || last[len(last)-1] != e.At {
			m.at[who] = append(last, e.At)
		}
		// Servers have names of one letter.
		if l.place == simulation.Resource || len(l.place) == 1 {
			m.legs = append(m.legs, l)
		}
	}
	return m
}
