package book_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// The settings of the service. All times are short, so that runs are.
const (
	rolloutTTL = 2 * time.Second
	longerTTL  = 3 * rolloutTTL // a MaxTTL that is raised to, or lowered from

	rolloutProcesses = 4
	rolloutRuns      = 20
)

// rolloutStep is the settings with which all processes start before the next step begins.
type rolloutStep struct {
	Title   string
	Servers string // the servers' names; empty: ABCDE
	Quorum  int    // 0: a majority
	Version uint64
	// TTL and MaxTTL are rolloutTTL unless they are set.
	TTL, MaxTTL time.Duration
}

// rollout is a change of a running service's settings: the steps in order, of which the first is
// the initial state. The processes crash, and restart with the next settings, one after the other, so old
// and new ones lock side by side, while servers restart empty and networks fail.
type rollout struct {
	Title string
	Steps []rolloutStep
	// Wrong says what is wrong with going to the last step at once. Empty: nothing. Shows is the seed of
	// a run that shows it.
	Wrong string
	Shows uint64
	// Apart: in that run only the first process is cut off, from the same servers all the time. So they don't hear of its
	// settings.
	Apart bool
}

var rollouts = []rollout{
	{Title: "another TTL, up to MaxTTL", Steps: []rolloutStep{
		{MaxTTL: longerTTL},
		{Title: "the new TTL", TTL: longerTTL, MaxTTL: longerTTL},
	}},
	{Title: "a longer MaxTTL", Steps: []rolloutStep{
		{},
		{Title: "`Set.Version` + 1 with the longer `MaxTTL`; TTLs stay", MaxTTL: longerTTL, Version: 1},
		{Title: "longer TTLs", TTL: longerTTL, MaxTTL: longerTTL, Version: 1},
	}, Wrong: "both in one step: a restarted server's vote counts for an old client while a new one holds a longer lease", Shows: 14, Apart: true},
	{Title: "a shorter MaxTTL", Steps: []rolloutStep{
		{TTL: longerTTL, MaxTTL: longerTTL},
		{Title: "shorter TTLs", MaxTTL: longerTTL},
		{Title: "the old `MaxTTL` later: `Set.Version` + 1 with the shorter `MaxTTL`", Version: 1},
	}, Wrong: "both in one step: a restarted server's vote counts for a new client while an old one holds a longer lease", Shows: 36},
	{Title: "a larger Quorum, and back", Steps: []rolloutStep{
		{},
		{Title: "`Set.Version` + 1 with `Quorum` 4", Quorum: 4, Version: 1},
		{Title: "`Set.Version` + 1 with `Quorum` 3", Version: 2},
	}},
	{Title: "E of A to E replaced by F", Steps: []rolloutStep{
		{},
		{Title: "`Quorum` 4", Quorum: 4, Version: 1},
		{Title: "A B C D F, `Quorum` 4", Servers: "ABCDF", Quorum: 4, Version: 2},
		{Title: "`Quorum` 3", Servers: "ABCDF", Version: 3},
	}, Wrong: "the list in one step: an old and a new majority may have no server in common", Shows: 4},
	{Title: "C of A to C replaced by D", Steps: []rolloutStep{
		{Servers: "ABC"},
		{Title: "`Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1},
		{Title: "A B D, `Quorum` 3", Servers: "ABD", Quorum: 3, Version: 2},
		{Title: "`Quorum` 2", Servers: "ABD", Version: 3},
	}, Wrong: "the list in one step", Shows: 1},
	{Title: "A B C become A to E", Steps: []rolloutStep{
		{Servers: "ABC"},
		{Title: "A B C, `Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1},
		{Title: "A B C D E, `Quorum` 3", Version: 2},
	}, Wrong: "the list in one step", Shows: 8},
}

// rolloutTable has a row for each change: its steps in the right order, and the wrong order.
func rolloutTable(*testing.T, []string) string {
	var rows [][]string
	for _, r := range rollouts {
		var steps []string
		for i, s := range r.Steps[1:] {
			steps = append(steps, fmt.Sprintf("%d. %s", i+1, s.Title))
		}
		wrong := r.Wrong
		if wrong != "" {
			wrong += fmt.Sprintf(" (run %d)", r.Shows)
		}
		rows = append(rows, []string{r.Title, strings.Join(steps, "<br>"), wrong})
	}
	return fmt.Sprintf("%s\nThe [simulation](../simulation/internal/book/rollout_test.go) plays each order: the right ones in %d runs without two\nholders, and each wrong one in a run with two.",
		table("change | the right order | the wrong order", rows), rolloutRuns)
}

// Right orders have no violations, and clients are refused only in changes that raise Set.Version.
// Each wrong order has a run with two holders.
func TestRollouts(t *testing.T) {
	for _, r := range rollouts {
		t.Run(r.Title, func(t *testing.T) {
			t.Parallel()
			right, refused := r, 0
			right.Apart = false
			for seed := range long.Number[uint64](rolloutRuns, 2) {
				found, leases, mismatched := right.run(t, seed)
				assert.Empty(t, found, "run %d", seed)
				assert.Greater(t, leases, 10, "run %d", seed)
				refused += mismatched
			}
			assert.Equal(t, r.Steps[len(r.Steps)-1].Version > 0, refused > 0)
			if r.Wrong != "" {
				r.Steps = []rolloutStep{r.Steps[0], r.Steps[len(r.Steps)-1]}
				found, _, _ := r.run(t, r.Shows)
				assert.Contains(t, found, record.TwoHolders, "run %d doesn't show it any more: look for another one", r.Shows)
			}
		})
	}
}

// run plays one run, and returns the violations, the number of leases, and that of
// the requests that were refused because of another set. The seed decides which process is cut off
// from which servers and when, which server restarts empty and when, and which process asks for
// which lock.
func (r rollout) run(t *testing.T, seed uint64) (found []record.ViolationKind, leases, mismatched int) {
	t.Helper()
	begun := map[string]int{} // how many steps, by the process
	result, err := simulation.Run(seed, simulation.Config{
		Servers: 6, Processes: rolloutProcesses,
		Progress: -1, // a client with the wrong settings is refused, and that is right
		Locker: func(p simulation.Process) (simulation.Locker, error) {
			s := r.Steps[begun[p.Name]]
			begun[p.Name]++
			p.Config.TTL, p.Config.MaxTTL = cmp.Or(s.TTL, rolloutTTL), cmp.Or(s.MaxTTL, rolloutTTL)
			p.Config.Quorum, p.Config.Set = s.Quorum, quorum.Set{Name: "orders", Version: s.Version}
			var instances []wire.Instance
			for _, server := range cmp.Or(s.Servers, "ABCDE") {
				instances = append(instances, p.Instances[server-'A'])
			}
			p.Instances = instances
			return simulation.Library(p)
		},
	}, r.faults(seed), r.work)
	require.NoError(t, err)
	for e := range result.Log.All() {
		switch {
		case e.Kind == record.Refused && e.Words == quorum.ErrSetMismatch.Error():
			mismatched++
		case e.Kind == record.Acquired:
			leases++
		}
	}
	return result.Kinds(), leases, mismatched
}

// begins is when a process is started with a step: one after the other, and with the next step when the
// longest MaxTTL has passed since all have this one. Before the first there are leases, and marks on the servers.
func begins(step, process int) time.Duration {
	return 2*rolloutTTL + time.Duration((step-1)*(rolloutProcesses+1)+process)*longerTTL
}

// faults begins the steps, and cuts each process off from as many servers as a step allows, at any time, so that leases
// are on few of them. Servers restart without their data, one after the other and rarely enough that at most one is in
// quarantine.
func (r rollout) faults(seed uint64) (schedule simulation.Schedule) {
	draw := rand.New(rand.NewPCG(seed, 0))
	milliseconds := func(least, most int) time.Duration {
		return time.Duration(least+draw.IntN(most-least)) * time.Millisecond
	}
	servers, cuts, quarantine, length := "ABCDE", 2, rolloutTTL, begins(len(r.Steps), 0)+longerTTL
	for _, step := range r.Steps {
		if strings.Contains(step.Servers, "F") {
			servers = "ABCDEF"
		}
		if step.Quorum > 0 {
			cuts = 1
		}
		quarantine = max(quarantine, step.MaxTTL)
	}
	for process := range rolloutProcesses {
		name := fmt.Sprintf("c%d", process+1)
		for step := 1; step < len(r.Steps); step++ {
			schedule = append(schedule, fault.Fault{Kind: fault.Reboot, Process: name, At: begins(step, process), For: 10 * time.Millisecond})
		}
		for at := time.Duration(0); at < length && (process == 0 || !r.Apart); {
			lasts := milliseconds(1000, 4000)
			if r.Apart {
				lasts = length
			}
			for _, server := range draw.Perm(len(servers))[:cuts] {
				schedule = append(schedule, fault.Fault{Kind: fault.Cut, Process: name, Server: servers[server : server+1], At: at, For: lasts})
			}
			at += lasts
		}
	}
	for at := milliseconds(0, 2000); at < length; at += quarantine + milliseconds(500, 1500) {
		server := draw.IntN(len(servers))
		schedule = append(schedule, fault.Fault{Kind: fault.Restart, Server: servers[server : server+1], At: at, For: 10 * time.Millisecond})
	}
	return schedule
}

// work takes locks and holds them for a while. Most are new to all clients.
func (r rollout) work(c *simulation.Client) {
	began := c.Clock().Now()
	for n := uint64(0); c.Incarnation < len(r.Steps)-1 || c.Clock().Since(began) < rolloutProcesses*longerTTL; n++ {
		key := "k"
		if one := c.Pick(3*n, 4); one > 0 {
			key = fmt.Sprintf("new-%d-%d", one, c.Clock().Now().Truncate(longerTTL).Unix())
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
