package search

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the tests play: the library as it is, and the library without its safeguards.
func library(*simulation.Config)   {}
func guarded(c *simulation.Config) { c.Guard = simulation.GuardAdmits }
func hidden(c *simulation.Config)  { c.HideRunID = true }
func unwatched(c *simulation.Config) {
	c.Quorum.Lab.RestartQuarantine, c.Quorum.Lab.ClockMonitor = quorum.Off, quorum.Off
}

// forgetful is the library on servers that grant every request for a lock.
func forgetful(cfg *simulation.Config) {
	cfg.Locker = func(p simulation.Process) (simulation.Locker, error) {
		for i, instance := range p.Instances {
			p.Instances[i] = grantsAll{instance, p.Redis[i]}
		}
		return simulation.Library(p)
	}
}

// grantsAll is an instance that deletes a key before it is acquired.
type grantsAll struct {
	wire.Instance
	redis simulation.Redis
}

func (i grantsAll) Send(request wire.Request, timeout time.Duration, to wire.Receiver) {
	if request.Op != wire.Acquire {
		i.Instance.Send(request, timeout, to)
		return
	}
	go func() {
		_, _ = i.redis.Do(context.Background(), append([]string{"DEL"}, request.Keys...)...) // a server that is down grants nothing
		i.Instance.Send(request, timeout, to)
	}()
}

func drawn(w Workload, apply func(*simulation.Config), faults ...fault.Kind) Space {
	return Space{Workload: w, Design: designs.Design{Apply: apply}, Faults: faults}
}

// first plays consecutive seeds of a space, from one close below it, until one shows a violation of
// a kind.
func first(t *testing.T, space Space, kind record.ViolationKind, from uint64) Finding {
	t.Helper()
	for seed := from; seed < from+400; seed++ {
		schedule := space.Schedule(seed)
		result, err := space.Play(seed, schedule)
		require.NoError(t, err)
		for _, f := range space.findings(seed, schedule, result) {
			if f.Kind == kind {
				return f
			}
		}
	}
	require.Fail(t, "no such violation, so nothing is shown", "%q in 400 seeds", kind)
	return Finding{}
}

// The findings don't depend on the number of processors. An interrupted search has those so far, without a gap.
func TestSearch(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	space := drawn(Mixed(), forgetful)
	for _, runs := range []uint64{20, 1 << 40} {
		var reports []Report
		for procs := range 3 {
			runtime.GOMAXPROCS(1 + procs)
			ctx, interrupt := context.WithCancel(t.Context())
			report, err := Search(ctx, space, runs, func(done, _ uint64) {
				if done == 20 {
					interrupt()
				}
			})
			require.NoError(t, err)
			assert.EqualValues(t, 20, report.Runs)
			assert.NotEmpty(t, report.Findings)
			found := uint64(0)
			for _, f := range report.Findings {
				assert.LessOrEqual(t, f.Runs, report.Violating, "%s: each run is counted once", f.Kind)
				found += f.Runs
			}
			assert.GreaterOrEqual(t, found, report.Violating)
			assert.Positive(t, report.Struck[fault.Pause])
			reports = append(reports, report)
		}
		assert.Equal(t, reports[0], reports[1])
		assert.Equal(t, reports[0], reports[2])
	}
}

// Within the assumptions nothing breaks the library.
func TestSearchWithin(t *testing.T) {
	space := drawn(Mixed(), library)
	space.Within = true
	report, err := Search(t.Context(), space, 100, func(runs, _ uint64) {
		assert.Zero(t, broken(space.Schedule(runs), space.config()))
	})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// Assumptions have the numbers and the words of package quorum.
func TestNamesAreThoseOfPackageQuorum(t *testing.T) {
	doc, err := os.ReadFile("../../quorum/doc.go")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(doc), "// # What is assumed\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "// # ")
	text = regexp.MustCompile(`\n// +`).ReplaceAllString(text, " ")
	points := regexp.MustCompile(` [1-9]\. `).Split(text, -1)[1:]
	require.Len(t, points, 7)
	for i, point := range points {
		_, name, _ := strings.Cut(strings.TrimSuffix(Assumption(i+1).String(), ")"), " (")
		assert.Regexp(t, "^"+strings.ToUpper(name[:1])+regexp.QuoteMeta(name[1:])+`[.:( ]`, point)
	}
}

// A finding is due to the assumption that its faults break, and to none if the assumptions cover all
// of them. The schedule that is left has no fault without need.
func TestAssumptionOfAFinding(t *testing.T) {
	for _, test := range []struct {
		design func(*simulation.Config)
		fault  fault.Kind
		kind   record.ViolationKind
		from   uint64 // the search begins at a seed that finds it
		want   Assumption
	}{
		{library, fault.Pause, record.TwoHolders, 451, 1},
		{library, fault.Duplicate, record.LostUpdate, 7, 1},
		{guarded, fault.Suspend, record.TwoHolders, 19, 2},
		{library, fault.Evict, record.TwoHolders, 132, 3},
		{library, fault.SplitBrain, record.TwoHolders, 5, 4},
		{unwatched, fault.Switch, record.TwoHolders, 0, 3},
		{unwatched, fault.Restart, record.TwoHolders, 272, 0},
		{forgetful, fault.Cut, record.TwoHolders, 0, 0},
	} {
		space := drawn(Mixed(), test.design, test.fault)
		small, _, err := space.Shrink(first(t, space, test.kind, test.from))
		require.NoError(t, err)
		assert.Equal(t, test.want, small.Assumption, "%s: %v", test.fault, small.Schedule)
		assert.Equal(t, test.kind, small.Kind)
		shows := func(schedule simulation.Schedule) bool {
			r, err := space.Play(small.Seed, schedule)
			require.NoError(t, err)
			return slices.ContainsFunc(r.Log.Violations(), func(v record.Violation) bool { return v.Kind == test.kind && v.Text == small.Text })
		}
		assert.True(t, shows(small.Schedule), "the text is that of the smaller run")
		if len(small.Schedule) > 0 {
			assert.False(t, shows(nil), test.fault)
		}
	}
	space := drawn(Mixed(), forgetful)
	f := first(t, space, record.TwoHolders, 0)
	f.Kind = record.NeverFree
	_, _, err := space.Shrink(f)
	require.ErrorContains(t, err, `doesn't show "never free"`)
}

// Whatever happens to clients, messages and servers, hand-offs break no promise. What the runs must have reached is
// listed, because otherwise nothing is shown, and without safeguards the same clients show two holders.
func TestHandOffs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	between := []fault.Kind{fault.Switch, fault.Restart, fault.Failover, fault.Hang, fault.Cut, fault.Lose}
	space := drawn(relayWorkload(), library, append(between, fault.Crash, fault.Reboot, fault.Step)...)
	counts := map[string]int{}
	for seed := range long.Number[uint64](200, 64) {
		schedule := space.Schedule(seed)
		runtime.GOMAXPROCS(1 + int(seed)%2)
		r, err := space.Play(seed, schedule)
		require.NoError(t, err)
		for _, f := range space.findings(seed, schedule, r) {
			// Servers may restart before their votes arrive. No fault keeps a holder from noticing its deadline.
			assert.EqualValues(t, 3, f.Assumption, "%v", f)
		}
		for what, n := range r.Log.Counts() {
			counts[what] += n
		}
		if seed < 8 {
			runtime.GOMAXPROCS(2 - int(seed)%2)
			again, err := space.Play(seed, schedule)
			require.NoError(t, err)
			assert.Equal(t, r.Log.Digest(), again.Log.Digest(), "seed %d has one outcome, though goroutines wake each other, handles pass, and connections lead to several servers", seed)
		}
	}
	for _, what := range []string{
		"a lease was handed off", "a lease was resumed", "a lease was extended", "a process crashed",
		"a value was replaced by the next one", "a reply came too late", "an address was switched", "a server was asked in another run than its own",
		"a quarantine began: clock jumped", "a quarantine began: restarted", "no lease: " + quorum.ErrLost.Error(),
	} {
		assert.Positive(t, counts[what], "%q never happened, so nothing is shown", what)
	}
	first(t, drawn(relayWorkload(), unwatched, between...), record.TwoHolders, 32)
	first(t, drawn(relayWorkload(), hidden, between...), record.TwoHolders, 32)
}

// Shrinking asks only its caller. It leaves out what isn't needed, and makes the rest shorter and rounder.
func TestShrink(t *testing.T) {
	many := simulation.Schedule{
		{Kind: fault.Crash, Process: "c1", At: time.Second},
		{Kind: fault.Hang, Server: "A", At: 1234567 * time.Microsecond, For: 9 * time.Second, Nth: 7},
		{Kind: fault.Flush, Server: "B", At: 2 * time.Second}, {Kind: fault.Pause, Process: "c2", At: 3 * time.Second, For: time.Second},
		{Kind: fault.Step, Process: "c1", By: -123456789, Frozen: true},
	}
	old := slices.Clone(many)
	small := shrink(many, func(s simulation.Schedule) bool {
		hangs := slices.ContainsFunc(s, func(f fault.Fault) bool {
			return f.Kind == fault.Hang && f.For >= 4*time.Second && f.At > 1210*time.Millisecond && f.At < 1900*time.Millisecond && f.Nth > 2
		})
		return hangs && slices.ContainsFunc(s, func(f fault.Fault) bool { // 0 would do, but isn't a smaller number
			return f.Kind == fault.Step && (f.By == 0 || f.By < -110*time.Millisecond && f.By > -150*time.Millisecond)
		})
	})
	assert.Equal(t, simulation.Schedule{
		{Kind: fault.Hang, Server: "A", At: 1300 * time.Millisecond, For: 5 * time.Second, Nth: 3},
		{Kind: fault.Step, Process: "c1", By: -120 * time.Millisecond},
	}, small)
	assert.Equal(t, old, many, "the caller's schedule is unchanged")
}
