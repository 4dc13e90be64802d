package main

import "time"

// options are the parsed flags.
type options struct {
	parts   []string
	workers []int
	against string
	rounds  int
	long    time.Duration
	quick   bool
	json    string
}

// group is cases that are measured in turns, with the same settings. They are compared with one of
// them.
type group struct {
	cases  []Case
	base   int // that case's index
	rounds int
	ttl    time.Duration
	long   time.Duration // of a measurement
	hold   time.Duration // how long a holder keeps the lock
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

// inTurns is a group with the default settings.
func (o options) inTurns(cases ...Case) group {
	return group{cases: cases, rounds: o.rounds, ttl: lockTTL, long: o.long}
}

// throughput: each worker acquires and releases a lock of its own.
func throughput(o options) (all []group) {
	for _, workers := range o.workers {
		g := o.inTurns()
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
		g := o.inTurns()
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
		g := o.inTurns()
		g.long, g.hold = max(o.long, time.Second), time.Millisecond // fairness takes some time to show
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
	g := o.inTurns()
	add := func(servers, keys int) {
		g.cases = append(g.cases, Case{Contender: ours, Servers: servers, Processes: 1, Workers: busy, Keys: keys})
	}
	for i, n := range []int{3, servers, 7, 9} {
		if n == servers {
			g.base = i
		}
		add(n, 0)
	}
	for _, keys := range []int{1, 1000, 1_000_000} {
		add(servers, keys)
	}
	return []group{g}
}

// held: leases are kept alive for a TTL.
func held(o options) []group {
	g, numbers := o.inTurns(), []int{10_000, 100_000}
	g.rounds, g.ttl = min(o.rounds, 3), 30*time.Second // a round takes longer than a TTL
	if o.quick {
		g.ttl, numbers = 3*time.Second, []int{2000} // the heap differs by some hundred kilobytes without them
	}
	g.long = g.ttl
	for _, n := range numbers {
		g.cases = append(g.cases, Case{Contender: ours, Servers: servers, Processes: 1, Leases: n})
	}
	return []group{g}
}

// against turns groups into comparisons with the program of another checkout: each case of this
// library is a group with that one's, which is measured right before or after it, so that both have
// the same load on the machine beside them.
func against(groups []group, this, other program) (all []group) {
	for _, g := range groups {
		for _, c := range g.cases {
			if c.Contender != ours {
				continue
			}
			pair := g
			pair.cases, pair.base = []Case{c, c}, 1
			for i, p := range []program{this, other} {
				pair.cases[i].Checkout, pair.cases[i].program, pair.cases[i].once = p.version, p.path, false
			}
			all = append(all, pair)
		}
	}
	return all
}
