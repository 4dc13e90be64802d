//go:build unix

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/box"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/record"
)

const (
	// lead is the time at which the scenarios begin, and simulatedTTL the TTL of their leases.
	lead         = time.Second
	simulatedTTL = 10 * time.Second
)

// plan turns a scenario's scripts and faults into a schedule of the box: its steps in the order of
// their times. A client that gets the lock in the simulation waits for it, so that leases can expire
// first; one that doesn't tries once.
type plan struct {
	config   simulation.Config
	faults   simulation.Schedule
	free     []scenarios.Free
	servers  string            // their letters
	twice    string            // the server that clients list twice
	outcomes map[string][]bool // what became of each client's requests in the simulation
	clients  []*planned
	steps    []timed
}

// timed is a step and its time in the scenario.
type timed struct {
	at   time.Duration
	text string
}

// planned is a client whose script is performed without a client. It is a Performer for the steps
// that scenarios with a live form have.
type planned struct {
	scenarios.Performer
	*plan
	name string
	now  time.Duration
	dead bool
	late fault.Fault // just before its first write
	// from and until are the time of its last lease that the simulation granted, until it was
	// released.
	from, until time.Duration
}

const never = time.Duration(1<<63 - 1)

// planOf returns the schedule of a scenario on n servers. outcomes are those of a simulated run.
func planOf(s scenarios.Scenario, cfg simulation.Config, faults simulation.Schedule, n int, outcomes map[string][]bool) (box.Schedule, error) {
	p := &plan{config: cfg, faults: faults, free: s.Free, twice: s.Twice, servers: "ABCDEFGHI"[:n], outcomes: outcomes}
	for i, script := range s.Scripts[:min(len(s.Scripts), cmp.Or(cfg.Processes, 2))] {
		c := &planned{plan: p, name: fmt.Sprint("c", i+1)}
		for _, f := range faults {
			if f.Nth == 1 && f.Op == "write" && f.Process == c.name {
				c.late = f
			}
		}
		script.Perform(c)
		p.clients = append(p.clients, c)
	}
	scripted := p.steps
	p.steps = nil
	for _, f := range faults {
		p.fault(f)
	}
	p.steps = append(p.steps, scripted...) // at one moment a fault comes first
	slices.SortStableFunc(p.steps, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	var schedule box.Schedule
	for _, step := range p.steps {
		parsed, err := box.ParseStep(step.text)
		if err != nil {
			return nil, err
		}
		schedule = append(schedule, parsed)
	}
	return schedule, nil
}

func (p *plan) add(at time.Duration, words ...string) {
	p.steps = append(p.steps, timed{at, strings.Join(words, " ")})
}

// do adds a step of the client's.
func (c *planned) do(what string) {
	if !c.dead {
		c.add(c.now, c.name, what)
	}
}

func (c *planned) Until(t time.Duration) { c.now = max(c.now, lead+t) }
func (c *planned) Sleep(d time.Duration) { c.now += d }
func (c *planned) Read()                 { c.do("reads") }
func (c *planned) Write()                { c.do("writes") }

func (c *planned) Valid() bool {
	c.do("checks")
	return true
}

// Release checks the lease first, unless it is over: the history knows beliefs only from checks.
func (c *planned) Release() {
	if !c.dead {
		if c.now < c.from+simulatedTTL {
			c.do("checks")
		}
		c.do("releases")
		c.until = min(c.until, c.now)
	}
}

// Acquire asks as often as it takes in the simulation.
func (c *planned) Acquire() bool { return c.ask(1) }

func (c *planned) Retry(tries int, _ time.Duration, _ int) bool { return c.ask(tries) }

func (c *planned) ask(tries int) bool {
	granted := false
	for outcomes := c.outcomes[c.name]; tries > 0 && !granted && len(outcomes) > 0; tries-- {
		granted, outcomes = outcomes[0], outcomes[1:]
		c.outcomes[c.name] = outcomes
	}
	expired := slices.ContainsFunc(c.clients, func(o *planned) bool { return o.until > c.now && o.from+simulatedTTL <= c.now })
	switch must := slices.ContainsFunc(c.free, func(f scenarios.Free) bool { return f.Process == c.name }); {
	case must && !c.held():
		c.do("gets")
	case must || granted:
		if expired && !must {
			c.add(c.now, "gone", c.servers) // so that the first try succeeds
		}
		c.do("waits")
	default:
		c.do("tries")
	}
	if granted {
		c.from, c.until = c.now, never
	} else if len(c.free) == 0 && !c.held() {
		c.add(c.now, "gone", c.servers) // what it has deleted is in nobody's way
	}
	return granted
}

// held reports whether another client has the lock and won't release it.
func (c *planned) held() bool {
	return slices.ContainsFunc(c.clients, func(o *planned) bool { return o.until > c.now && o.from <= c.now && o.until != 0 })
}

// Update is interrupted by a fault between its check and its write.
func (c *planned) Update() {
	f := c.late
	c.late = fault.Fault{}
	if f.Kind == "" {
		c.do("works")
		return
	}
	c.do("checks")
	c.do("reads")
	switch f.Kind {
	case fault.Crash:
		c.add(c.now, "kill", c.name)
		c.dead = true
	case fault.Pause:
		c.add(c.now, "pause", c.name)
		c.now += f.For
		c.add(c.now, "resume", c.name)
		c.do("writes")
	case fault.Delay:
		c.do("sends")
		c.add(c.now+f.By, c.name, "lands")
	}
}

// fault adds a fault, and its end.
func (p *plan) fault(f fault.Fault) {
	on := func(at time.Duration, do string) { p.add(at, do, f.Server) }
	switch {
	case f.Nth != 0:
		if f.Op != "write" { // the request for the lock is late
			p.add(0, "snare", f.Process, f.Server)
			p.add(lead+f.By, "free", f.Process, f.Server)
		}
	case f.Kind == fault.Cut && f.Way == fault.Replies:
		p.add(f.At, "miss", f.Process, f.Server) // the deletes that follow need replies
	case f.Kind == fault.Cut:
		p.add(f.At, "cut", f.Process, f.Server)
		if f.For > 0 {
			p.add(f.At+f.For, "heal", f.Process, f.Server)
			if p.config.Quorum.KeepAlive {
				on(f.At+f.For, "await") // the next extension puts it there
			}
		}
	case f.Kind == fault.Hang:
		on(f.At, "hang")
		on(f.At+f.For, "wake")
	case f.Kind == fault.Lag:
		for range p.config.Replicas {
			if on(f.At, "lag"); f.Replica != 0 {
				break
			}
		}
	default:
		p.onVotes(f, on)
	}
}

// onVotes adds a fault of a server that has votes. A round can be won before its last reply, so the
// votes of those who have the lock must be there first.
func (p *plan) onVotes(f fault.Fault, on func(at time.Duration, do string)) {
	for _, c := range p.clients {
		if c.from < f.At && f.At < c.until {
			p.add(f.At-1, "await", p.asked(c.name, c.from)) // before other faults of that moment
		}
	}
	switch f.Kind {
	case fault.Step:
		if on(f.At, "ahead"); f.By < 0 {
			p.steps[len(p.steps)-1].text = "behind " + f.Server
		}
	case fault.Restart:
		on(f.At, "stop")
		on(f.At+f.For, "start")
	case fault.Failover:
		for _, server := range p.servers {
			count := p.config.WaitReplicas
			if string(server) == f.Server {
				count = p.config.Replicas
			}
			for range count {
				p.add(0, "follow", string(server))
			}
		}
		on(f.At, "fail")
	case fault.Flush:
		on(f.At, "flush")
	case fault.Evict:
		if on(f.At, "drop"); p.config.Eviction != "" {
			p.steps[len(p.steps)-1].text = "evict " + f.Server
		}
	}
}

// asked are the servers that have a client's votes. One that is listed twice may have it under its
// other name alone.
func (p *plan) asked(client string, at time.Duration) string {
	return strings.Map(func(server rune) rune {
		name := string(server)
		cut := slices.ContainsFunc(p.faults, func(f fault.Fault) bool {
			return f.Kind == fault.Cut && f.Process == client && f.Server == name && f.At <= at && (f.For == 0 || at < f.At+f.For)
		})
		if cut || p.twice == name {
			return -1
		}
		return server
	}, p.servers)
}

// outcomesOf returns what became of each client's requests in a run.
func outcomesOf(log record.Log) map[string][]bool {
	outcomes := map[string][]bool{}
	for _, e := range log.History() {
		if e.Kind == record.Acquired || e.Kind == record.Refused {
			outcomes[e.Process] = append(outcomes[e.Process], e.Kind == record.Acquired)
		}
	}
	return outcomes
}
