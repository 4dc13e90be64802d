package search

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// singles lists every single fault that could matter to the run: a fault between two events
// of the same place has the same effect as at the later event. Shorter faults come first,
// and among these the earlier ones.
func (p run) singles(s Space) ([]fault.Fault, error) {
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

	var all []fault.Fault
	add := func(f fault.Fault) {
		if s.allows(f.Kind) {
			all = append(all, f)
		}
	}
	for _, name := range processes {
		for nth := range m.calls[name] {
			add(fault.Fault{Kind: fault.Crash, Process: name, Nth: nth + 1})
		}
	}
	for _, l := range m.legs {
		add(fault.Fault{Kind: fault.Cut, Process: l.process, Server: l.place, Way: l.way, At: l.at, For: 1})
	}
	for i := range servers {
		name := string(rune('A' + i))
		for _, at := range m.at[name] {
			add(fault.Fault{Kind: fault.Evict, Server: name, At: at})
			add(fault.Fault{Kind: fault.Flush, Server: name, At: at})
		}
	}
	for _, l := range m.legs {
		if l.place != fault.Resource {
			add(fault.Fault{Kind: fault.Reconnect, Process: l.process, Server: l.place, At: l.at})
		}
	}
	for _, l := range lengths {
		for _, name := range processes {
			for nth := range m.calls[name] {
				add(fault.Fault{Kind: fault.Reboot, Process: name, Nth: nth + 1, For: l})
				add(fault.Fault{Kind: fault.Pause, Process: name, Nth: nth + 1, For: l})
				add(fault.Fault{Kind: fault.Suspend, Process: name, Nth: nth + 1, For: l})
			}
			for nth := range result.Readings[name] {
				add(fault.Fault{Kind: fault.Pause, Process: name, Op: "clock", Nth: nth + 1, For: l})
				add(fault.Fault{Kind: fault.Pause, Process: name, Op: "clock", Nth: nth + 1, For: l, Stale: true})
			}
			for _, at := range m.at[name] {
				add(fault.Fault{Kind: fault.Step, Process: name, At: at, By: l})
				add(fault.Fault{Kind: fault.Step, Process: name, At: at, By: -l})
			}
		}
		for i := range servers {
			name := string(rune('A' + i))
			for _, at := range m.at[name] {
				add(fault.Fault{Kind: fault.Restart, Server: name, At: at, For: l})
				add(fault.Fault{Kind: fault.Hang, Server: name, At: at, For: l})
				add(fault.Fault{Kind: fault.Demote, Server: name, At: at, For: l})
				add(fault.Fault{Kind: fault.Switch, Process: fault.Any, Server: name, At: at, For: l, By: 1})
				add(fault.Fault{Kind: fault.Failover, Server: name, At: at, By: l})
				for _, process := range processes {
					add(fault.Fault{Kind: fault.SplitBrain, Process: process, Server: name, At: at, For: l})
				}
				if p.cfg.Replicas > 0 {
					add(fault.Fault{Kind: fault.Lag, Server: name, At: at, For: l, By: l})
				}
				add(fault.Fault{Kind: fault.Step, Server: name, At: at, By: l})
				add(fault.Fault{Kind: fault.Step, Server: name, At: at, By: -l})
			}
		}
		for _, leg := range m.legs {
			add(fault.Fault{Kind: fault.Delay, Process: leg.process, Server: leg.place, Way: leg.way, At: leg.at, For: 1, By: l})
			if leg.way == fault.Requests {
				add(fault.Fault{Kind: fault.Duplicate, Process: leg.process, Server: leg.place, At: leg.at, For: 1, By: l})
			}
		}
	}
	for _, ppm := range []int64{-100_000, 100_000} {
		for _, name := range processes {
			add(fault.Fault{Kind: fault.Rate, Process: name, PPM: ppm})
		}
		for i := range servers {
			add(fault.Fault{Kind: fault.Rate, Server: string(rune('A' + i)), PPM: ppm})
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
	way            fault.Way
	at             time.Duration // when it was sent
}

// momentsOf reads the starts of processes, the requests, and their arrivals, at which the
// replies are sent.
func momentsOf(log record.Log) moments {
	m := moments{calls: map[string]int{}, at: map[string][]time.Duration{}}
	for e := range log.All() {
		who, l := e.Place, leg{process: e.Process, place: e.Place, way: fault.Replies, at: e.At}
		switch {
		case e.Process == "witness":
			continue
		case e.Kind == record.Started:
			m.processes = append(m.processes, e.Process)
			continue
		case e.Kind == record.Sent:
			who, l.way = e.Process, fault.Requests
			m.calls[who]++
		case e.Kind != record.Voted && e.Kind != record.Answered && e.Kind != record.Read && e.Kind != record.Write:
			continue
		}
		if last := m.at[who]; len(last) == 0 || last[len(last)-1] != e.At {
			m.at[who] = append(last, e.At)
		}
		// Servers have names of one letter.
		if l.place == fault.Resource || len(l.place) == 1 {
			m.legs = append(m.legs, l)
		}
	}
	return m
}
