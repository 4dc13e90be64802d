package main

import "time"

// parts are what the page of benchmarks shows, a table for each. The cases of a group are measured in turns, for so
// long each.
var parts = []struct {
	name   string
	groups func(long time.Duration) [][]Case
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

// of returns the case for each contender that is wanted.
func (c Case) of(want func(contender) bool) (group []Case) {
	for _, one := range contenders {
		if want(one) {
			c.Contender = one.name
			group = append(group, c)
		}
	}
	return group
}

// throughput: each worker acquires and releases a lock of its own.
func throughput(long time.Duration) (groups [][]Case) {
	for _, workers := range []int{1, 16, busy, 1024} {
		c := Case{Servers: servers, Processes: 1, Workers: workers, Long: long}
		groups = append(groups, c.of(func(contender) bool { return true }))
	}
	return groups
}

// sick: one server is faulty.
func sick(long time.Duration) (groups [][]Case) {
	for _, state := range []string{"healthy", slow, hung, killed} {
		c := Case{Servers: servers, State: state, Processes: 1, Workers: busy, Long: long}
		group := c.of(func(c contender) bool { return c.sick })
		for i := range group {
			group[i].once = group[i].Contender != ours // it takes the others many seconds
		}
		groups = append(groups, group)
	}
	return groups
}

// contended: all want the same lock.
func contended(long time.Duration) (groups [][]Case) {
	long = max(long, time.Second) // fairness takes some time to show
	for _, shape := range []struct{ processes, workers int }{{1, 16}, {4, 4}} {
		c := Case{Servers: servers, Processes: shape.processes, Workers: shape.workers, Keys: 1, Long: long, Hold: time.Millisecond}
		groups = append(groups, c.of(func(c contender) bool { return c.contended }))
	}
	return groups
}

// scale: other numbers of servers, and of keys.
func scale(long time.Duration) [][]Case {
	var group []Case
	for _, shape := range []struct{ servers, keys int }{{servers, 0}, {3, 0}, {7, 0}, {9, 0}, {servers, 1}, {servers, 1000}, {servers, 1_000_000}} {
		group = append(group, Case{Contender: ours, Servers: shape.servers, Processes: 1, Workers: busy, Keys: shape.keys, Long: long})
	}
	return [][]Case{group}
}

// held: leases are kept alive for a TTL.
func held(time.Duration) [][]Case {
	c := Case{Contender: ours, Servers: servers, Processes: 1, Long: 30 * time.Second}
	few, many := c, c
	few.Leases, many.Leases = 10_000, 100_000
	return [][]Case{{few, many}}
}
