package main

import "time"

// options are the parsed flags.
type options struct {
	parts   []string
	workers []int
	rounds  int
	long    time.Duration
	quick   bool
}

// group is cases that are measured in turns, with the same settings. They are compared with the first.
type group struct {
	cases []Case
	Setting
}

// parts are what the page of benchmarks shows, a table for each.
var parts = []struct {
	name   string
	groups func(options) []group
}{
	{"throughput", throughput}, {"sick", sick}, {"contended", contended}, {"scale", scale}, {"held", held},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

const (
	servers = 5
	busy    = 128 // so many workers keep the servers busy
)

// group is an empty group with the default settings.
func (o options) group() group { return group{Setting: Setting{TTL: lockTTL, Long: o.long}} }

// throughput: each worker acquires and releases a lock of its own.
func throughput(o options) (all []group) {
	for _, workers := range o.workers {
		g := o.group()
		for _, c := range contenders() {
			g.cases = append(g.cases, Case{Contender: c.name, Servers: servers, Processes: 1, Workers: workers})
		}
		all = append(all, g)
	}
	return all
}

// sick: one server is faulty.
func sick(o options) (all []group) {
	for _, state := range []string{"healthy", slow, hung, killed} {
		g := o.group()
		for _, c := range contenders() {
			if c.sick {
				g.cases = append(g.cases, Case{
					Contender: c.name, Servers: servers, State: state, Processes: 1, Workers: busy,
					once: c.name != ours, // it takes the others many seconds
				})
			}
		}
		all = append(all, g)
	}
	return all
}

// contended: all want the same lock.
func contended(o options) (all []group) {
	for _, shape := range []struct{ processes, workers int }{{1, 16}, {4, 4}} {
		g := o.group()
		g.Long, g.Hold = max(o.long, time.Second), time.Millisecond // fairness takes some time to show
		for _, c := range contenders() {
			if c.contended {
				g.cases = append(g.cases, Case{Contender: c.name, Servers: servers, Processes: shape.processes, Workers: shape.workers, Keys: 1})
			}
		}
		all = append(all, g)
	}
	return all
}

// scale: other numbers of servers, and of keys.
func scale(o options) []group {
	g := o.group()
	add := func(servers, keys int) {
		g.cases = append(g.cases, Case{Contender: ours, Servers: servers, Processes: 1, Workers: busy, Keys: keys})
	}
	for _, n := range []int{servers, 3, 7, 9} {
		add(n, 0)
	}
	for _, keys := range []int{1, 1000, 1_000_000} {
		add(servers, keys)
	}
	return []group{g}
}

// held: leases are kept alive for a TTL.
func held(o options) []group {
	ttl, numbers := 30*time.Second, []int{10_000, 100_000}
	if o.quick {
		ttl, numbers = 3*time.Second, []int{2000} // the heap differs by some hundred kilobytes without them
	}
	g := group{Setting: Setting{TTL: ttl, Long: ttl}}
	for _, n := range numbers {
		g.cases = append(g.cases, Case{Contender: ours, Servers: servers, Processes: 1, Leases: n})
	}
	return []group{g}
}
