package book_test

import (
	"cmp"
	"context"
	"errors"
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
// the initial state. The processes restart with the next settings one after the other, so old and
// new ones lock side by side, while servers restart empty and networks fail.
type rollout struct {
	Title string
	Steps []rolloutStep
	// Wrong says what is wrong with going to the last step at once. Empty: nothing. Shows is the seed of
	// a run that shows it.
	Wrong string
	Shows uint64
	// Apart: in that run only the first process is cut off, from the same servers all the time, and the others
	// follow it late. So some servers don't hear of its settings.
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
	}, Wrong: "both in one step: a restarted server's vote counts for an old client while a new one holds a longer lease", Shows: 23, Apart: true},
	{Title: "a shorter MaxTTL", Steps: []rolloutStep{
		{TTL: longerTTL, MaxTTL: longerTTL},
		{Title: "shorter TTLs", MaxTTL: longerTTL},
		{Title: "the old `MaxTTL` later: `Set.Version` + 1 with the shorter `MaxTTL`", Version: 1},
	}, Wrong: "both in one step: a restarted server's vote counts for a new client while an old one holds a longer lease", Shows: 22},
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
	}, Wrong: "the list in one step: an old and a new majority may have no server in common", Shows: 8},
	{Title: "C of A to C replaced by D", Steps: []rolloutStep{
		{Servers: "ABC"},
		{Title: "`Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1},
		{Title: "A B D, `Quorum` 3", Servers: "ABD", Quorum: 3, Version: 2},
		{Title: "`Quorum` 2", Servers: "ABD", Version: 3},
	}, Wrong: "the list in one step", Shows: 13},
	{Title: "A B C become A to E", Steps: []rolloutStep{
		{Servers: "ABC"},
		{Title: "A B C, `Quorum` 3", Servers: "ABC", Quorum: 3, Version: 1},
		{Title: "A B C D E, `Quorum` 3", Version: 2},
	}, Wrong: "the list in one step", Shows: 111},
}

// order is the right order, or the wrong one: without the steps between the first and the last.
func (r rollout) order(right bool) rollout {
	if right {
		r.Apart = false
	} else {
		r.Steps = []rolloutStep{r.Steps[0], r.Steps[len(r.Steps)-1]}
	}
	return r
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
// Each wrong order has a run with a violation.
func TestRollouts(t *testing.T) {
	for _, r := range rollouts {
		t.Run(r.Title, func(t *testing.T) {
			t.Parallel()
			refused := 0
			for seed := range long.Number[uint64](rolloutRuns, 2) {
				holders, leases, mismatched := r.order(true).run(t, seed)
				assert.False(t, holders, "run %d", seed)
				assert.Greater(t, leases, 10, "run %d", seed)
				refused += mismatched
			}
			assert.Equal(t, r.Steps[len(r.Steps)-1].Version > 0, refused > 0)
			if r.Wrong != "" {
				holders, _, _ := r.order(false).run(t, r.Shows)
				assert.True(t, holders, "run %d doesn't show it any more: look for another one", r.Shows)
			}
		})
	}
}

// run plays one run, and returns whether there were two holders, the number of leases, and that of
// the requests that were refused because of another set. The seed decides which process is cut off
// from which servers and when, which server restarts empty and when, and which process asks for
// which lock.
func (r rollout) run(t *testing.T, seed uint64) (holders bool, leases, mismatched int) {
	t.Helper()
	result, err := simulation.Run(seed, simulation.Config{
		Servers: 6, Processes: rolloutProcesses,
		Progress: -1, // a client with the wrong settings is refused, and that is right
		Locker:   r.locker,
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
	return len(result.Kinds()) > 0, leases, mismatched
}

// begins is when a process is started with a step: one after the other, and with the next step when the
// longest MaxTTL has passed since all have this one.
func (r rollout) begins(step, process int) time.Duration {
	if step == 0 {
		return 0
	}
	stagger := rolloutTTL
	if r.Apart {
		stagger = 2 * longerTTL
	}
	first := 2*rolloutTTL + time.Duration(step-1)*(rolloutProcesses*stagger+longerTTL) // there are leases, and marks on the servers
	return first + time.Duration(process)*stagger
}

func (r rollout) length() time.Duration { return r.begins(len(r.Steps), 0) + longerTTL }

// faults cuts each process off from as many servers as a step allows, at any time, so that leases are on few of them,
// and restarts the servers without their data, one after the other and rarely enough that at most
// one is in quarantine.
func (r rollout) faults(seed uint64) (schedule simulation.Schedule) {
	draw := rand.New(rand.NewPCG(seed, 0))
	milliseconds := func(least, most int) time.Duration {
		return time.Duration(least+draw.IntN(most-least)) * time.Millisecond
	}
	servers, cuts, quarantine := "ABCDE", 2, rolloutTTL
	for _, step := range r.Steps {
		if strings.Contains(step.Servers, "F") {
			servers = "ABCDEF"
		}
		if step.Quorum > 0 {
			cuts = 1
		}
		quarantine = max(quarantine, step.MaxTTL)
	}
	processes := rolloutProcesses
	if r.Apart {
		processes = 1
	}
	for process := range processes {
		for at := time.Duration(0); at < r.length(); {
			lasts, cut := milliseconds(1000, 4000), draw.Perm(len(servers))[:cuts]
			if r.Apart {
				lasts = r.length()
			}
			for _, server := range cut {
				schedule = append(schedule, fault.Fault{
					Kind: fault.Cut, Process: fmt.Sprintf("c%d", process+1), Server: servers[server : server+1], At: at, For: lasts,
				})
			}
			at += lasts
		}
	}
	for at := milliseconds(0, 2000); at < r.length(); at += quarantine + milliseconds(500, 1500) {
		server := draw.IntN(len(servers))
		schedule = append(schedule, fault.Fault{Kind: fault.Restart, Server: servers[server : server+1], At: at, For: 10 * time.Millisecond})
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

// rolloutProcess is a client process over its restarts: it ends in an orderly way, and starts again
// with the next step's settings, when it next asks for a lock.
type rolloutProcess struct {
	simulation.Locker
	r     rollout
	p     simulation.Process
	began time.Time
	step  int
}

func (r rollout) locker(p simulation.Process) (simulation.Locker, error) {
	process := &rolloutProcess{r: r, p: p, began: p.Config.Lab.Clock.Now()}
	return process, process.start()
}

// start opens the Coordinator with the settings of the current step.
func (p *rolloutProcess) start() (err error) {
	s, with := p.r.Steps[p.step], p.p
	with.Config.TTL, with.Config.MaxTTL = cmp.Or(s.TTL, rolloutTTL), cmp.Or(s.MaxTTL, rolloutTTL)
	with.Config.Quorum, with.Config.Set = s.Quorum, quorum.Set{Name: "orders", Version: s.Version}
	with.Instances = []wire.Instance{}
	for i, instance := range p.p.Instances {
		if strings.ContainsRune(cmp.Or(s.Servers, "ABCDE"), rune('A'+i)) {
			with.Instances = append(with.Instances, instance)
		}
	}
	p.Locker, err = simulation.Library(with)
	return err
}

func (p *rolloutProcess) TryAcquire(ctx context.Context, key string) (simulation.Lease, error) {
	next := p.step
	for next+1 < len(p.r.Steps) && p.p.Config.Lab.Clock.Since(p.began) >= p.r.begins(next+1, p.p.Index) {
		next++
	}
	if next > p.step {
		if err := p.Close(ctx); err != nil {
			return nil, err
		}
		p.step = next
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	return p.Locker.TryAcquire(ctx, key)
}

// Close doesn't wait for servers that can't be reached.
func (p *rolloutProcess) Close(ctx context.Context) error {
	ctx, cancel := p.p.Config.Lab.Clock.WithTimeout(ctx, rolloutTTL)
	defer cancel()
	if err := p.Locker.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
