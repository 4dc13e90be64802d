package book_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// The settings of the service. All times are short, so that runs are.
const (
	rolloutTTL = 2 * time.Second
	longerTTL  = 3 * rolloutTTL // a MaxTTL that is raised to, or lowered from

	rolloutProcesses = 4
	rolloutWatched   = 2 * longerTTL // how long a run continues after the last start
)

// rolloutStep is the settings with which all processes start before the next step begins.
type rolloutStep struct {
	Title string
	// After is how long the previous step lasts after the last process has it.
	After time.Duration
	// Servers are the servers' names. Empty: ABCDE.
	Servers string
	Quorum  int // 0: a majority
	Version uint64
	// TTL and MaxTTL are rolloutTTL unless they are set.
	TTL, MaxTTL time.Duration
	// Change makes other changes.
	Change func(*quorum.Config)
	// Guarded says that the resource refuses writes without a token.
	Guarded bool
}

// rollout is a change of a running service's settings: the steps in order, of which the first is
// the initial state. The processes restart with the next settings one after the other, so old and
// new ones lock side by side, while servers restart empty and networks fail.
type rollout struct {
	Name, Title string
	Steps       []rolloutStep
	// Wrong says what is wrong with the order. Empty: nothing. Shows is the seed of a run that
	// shows it.
	Wrong string
	Shows uint64
	// Since is the step from which on violations count.
	Since int
	// Stagger is the time between two processes' starts with a step. 0: rolloutTTL.
	Stagger time.Duration
	// Cuts is the number of servers from which each process is cut off at any time.
	Cuts int
}

// rolloutOutcome is the outcome of many runs.
type rolloutOutcome struct {
	Runs, Violated int
	// Seed is that of the first run with a violation, and Kinds are its violations.
	Seed  uint64
	Kinds []record.ViolationKind
	// Leases counts the leases, Mismatched the requests refused because of another set, and
	// Tokenless the leases without a token while the resource requires one.
	Leases, Mismatched, Tokenless int
}

// Play plays runs with consecutive seeds.
func (r rollout) Play(from uint64, runs int) (rolloutOutcome, error) {
	o := rolloutOutcome{Runs: runs}
	for seed := from; seed < from+uint64(runs); seed++ {
		result, err := r.Run(seed)
		if err != nil {
			return o, err
		}
		if kinds := r.found(result); len(kinds) > 0 {
			if o.Violated == 0 {
				o.Seed, o.Kinds = seed, kinds
			}
			o.Violated++
		}
		r.count(result, &o)
	}
	return o, nil
}

// Run plays one run. The seed decides which process is cut off from which servers and
// when, which server restarts empty and when, and which process asks for which lock.
func (r rollout) Run(seed uint64) (simulation.Result, error) {
	result, err := simulation.Run(seed, simulation.Config{
		Servers: 6, Processes: rolloutProcesses,
		Progress: -1, // a client with the wrong settings is refused, and that is right
		Locker:   r.locker,
	}, r.faults(seed), r.work)
	if err != nil {
		return result, fmt.Errorf("rollout %s: %w", r.Name, err)
	}
	return result, nil
}

// found lists the kinds of violations that count.
func (r rollout) found(result simulation.Result) []record.ViolationKind {
	var kinds []record.ViolationKind
	for _, v := range result.Log.Violations() {
		// A vote that is lost with its server before the round is won needs no rollout, and no
		// other client gets it (S7d).
		if v.At >= r.begins(r.Since, 0) && v.Kind != record.Overvalued {
			kinds = append(kinds, v.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (r rollout) count(result simulation.Result, o *rolloutOutcome) {
	for _, e := range result.Log.History() {
		switch {
		case e.Kind == record.Refused && e.Words == quorum.ErrSetMismatch.Error():
			o.Mismatched++
		case e.Kind == record.Acquired:
			o.Leases++
			if e.Token == 0 && r.at(e.At).Guarded {
				o.Tokenless++
			}
		}
	}
}

// at is the current step of the rollout.
func (r rollout) at(now time.Duration) rolloutStep {
	step := 0
	for step+1 < len(r.Steps) && now >= r.begins(step+1, 0) {
		step++
	}
	return r.Steps[step]
}

// begins is when a process is started with a step.
func (r rollout) begins(step, process int) time.Duration {
	if step == 0 {
		return 0
	}
	at := 2 * rolloutTTL // so that there are leases, and marks on the servers
	for i, s := range r.Steps[1 : step+1] {
		at += s.After
		if i > 0 {
			at += rolloutProcesses * r.stagger()
		}
	}
	return at + time.Duration(process)*r.stagger()
}

func (r rollout) stagger() time.Duration { return cmp.Or(r.Stagger, rolloutTTL) }

func (r rollout) length() time.Duration {
	return r.begins(len(r.Steps)-1, rolloutProcesses) + rolloutWatched
}

// faults cuts each process off from some servers at any time, so that leases are on few of them,
// and restarts the servers without their data, one after the other and rarely enough that at most
// one is in quarantine.
func (r rollout) faults(seed uint64) simulation.Schedule {
	draw := rand.New(rand.NewPCG(seed, 0))
	milliseconds := func(least, most int) time.Duration {
		return time.Duration(least+draw.IntN(most-least)) * time.Millisecond
	}
	servers, quarantine := "ABCDE", rolloutTTL
	for _, step := range r.Steps {
		if strings.Contains(step.Servers, "F") {
			servers = "ABCDEF"
		}
		quarantine = max(quarantine, step.MaxTTL)
	}
	var schedule simulation.Schedule
	for process := range rolloutProcesses {
		for at := time.Duration(0); at < r.length(); {
			lasts := milliseconds(1000, 4000)
			for _, server := range draw.Perm(len(servers))[:r.Cuts] {
				schedule = append(schedule, fault.Fault{
					Kind: fault.Cut, Process: fmt.Sprintf("c%d", process+1), Server: servers[server : server+1], At: at, For: lasts,
				})
			}
			at += lasts
		}
	}
	for at := milliseconds(0, 2000); at < r.length(); at += quarantine + milliseconds(500, 1500) {
		server := draw.IntN(len(servers))
		schedule = append(schedule, fault.Fault{
			Kind: fault.Restart, Server: servers[server : server+1], At: at, For: 10 * time.Millisecond,
		})
	}
	return schedule
}

// work takes locks and holds them for a while. Most are new to all clients.
func (r rollout) work(c *simulation.Client) {
	began := c.Clock().Now()
	now := func() time.Duration { return c.Clock().Now().Sub(began) }
	for n := uint64(0); now() < r.length(); n++ {
		key := "k"
		if one := c.Pick(3*n, 4); one > 0 {
			key = fmt.Sprintf("new-%d-%d", one, now()/longerTTL)
		}
		lease, err := c.TryAcquire(key)
		if err != nil {
			c.Sleep(time.Duration(20+c.Pick(3*n+1, 100)) * time.Millisecond)
			continue
		}
		if value, version, err := c.Read(lease); err == nil && c.Valid(lease) {
			_ = c.Write(lease, value+1, version)
		}
		c.Sleep((lease.Validity() - 20*time.Millisecond) * time.Duration(1+c.Pick(3*n+2, 100)) / 100)
		_ = c.Release(lease)
	}
}
