package search

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
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
	"github.com/redquorum/redlock/simulation/internal/farm"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// asWorker makes the test binary a worker process, which plays a space of farmed.
const asWorker = "-worker-process"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == asWorker {
		to, err := strconv.ParseUint(os.Args[3], 10, 64)
		if err == nil {
			err = Serve(farmed[os.Args[2]], Options{To: to}, os.Args[4], os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// farmed are the spaces that worker processes play.
var farmed = map[string]Space{
	"forgetful": drawn(Mixed(), forgetful),
	"deadly": drawn(Workload{Work: func(c *simulation.Client) {
		if c.Seed() == 70 {
			fmt.Fprintln(os.Stderr, "out of order")
			os.Exit(7)
		}
	}}, library),
}

// searchFarmed searches a space of farmed with worker processes.
func searchFarmed(ctx context.Context, name string, to uint64, workers int, progress func(runs, violating uint64)) (Report, error) {
	run := func(ctx context.Context, share string, out, errs io.Writer) error {
		cmd := exec.CommandContext(ctx, os.Args[0], asWorker, name, strconv.FormatUint(to, 10), share)
		cmd.Stdout, cmd.Stderr = out, errs
		return cmd.Run()
	}
	return Search(ctx, farmed[name], Options{To: to, Workers: farm.Workers{Number: workers, Run: run}, Progress: progress})
}

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

// find searches a space without worker processes.
func find(t *testing.T, space Space, from, to uint64) Report {
	t.Helper()
	report, err := Search(t.Context(), space, Options{From: from, To: to})
	require.NoError(t, err)
	return report
}

// first plays consecutive seeds of a space, from one close below it, until one shows a violation of
// a kind.
func first(t *testing.T, space Space, kind record.ViolationKind, from uint64) Finding {
	t.Helper()
	const step = 8
	for end := from + 400; from < end; from += step {
		report := find(t, space, from, from+step)
		for _, f := range report.Kinds() {
			if f.Kind == kind {
				return f
			}
		}
	}
	require.Fail(t, "no such violation, so nothing is shown", "%q in 400 seeds", kind)
	return Finding{}
}

// The findings don't depend on the number of workers, or on whether there are any.
func TestSameOutcomeWithAnyNumberOfWorkers(t *testing.T) {
	const runs = chunk + 8
	want := find(t, farmed["forgetful"], 0, runs)
	require.True(t, want.Ended)
	require.EqualValues(t, runs, want.Runs)
	require.NotEmpty(t, want.Findings)
	for _, workers := range []int{1, 3} {
		var told []uint64
		report, err := searchFarmed(t.Context(), "forgetful", runs, workers, func(runs, _ uint64) { told = append(told, runs) })
		require.NoError(t, err)
		require.Equal(t, want, report, "%d workers", workers)
		assert.Equal(t, []uint64{chunk, runs}, told)
	}
}

// A search whose worker dies says where, with the worker's output.
func TestWorkerThatDies(t *testing.T) {
	report, err := searchFarmed(t.Context(), "deadly", 100, 2, nil)
	require.EqualError(t, err, "seeds from 64: a worker process ended: exit status 7\nout of order")
	assert.False(t, report.Ended)
	assert.EqualValues(t, 64, report.Runs)
}

// An interrupted search has the findings so far, without a gap.
func TestInterruption(t *testing.T) {
	for _, workers := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		report, err := searchFarmed(ctx, "forgetful", 1<<40, workers, func(uint64, uint64) { cancel() })
		cancel()
		require.NoError(t, err)
		assert.False(t, report.Ended)
		report.Ended = true
		assert.Equal(t, find(t, farmed["forgetful"], 0, chunk), report, "%d workers", workers)
	}
	// It ends a run, too, such as one that would go on forever.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := simulation.RunContext(ctx, 1, simulation.Config{Horizon: 1 << 62, MaxEvents: 1 << 40}, nil, func(c *simulation.Client) {
		for c.Sleep(time.Second); ; c.Sleep(time.Second) {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted after 1s of virtual time")
}

func TestBadSpaces(t *testing.T) {
	for says, change := range map[string]func(*Space, *Options){
		`no fault "rain"`:     func(s *Space, _ *Options) { s.Faults = []fault.Kind{"rain"} },
		"at most 2000 faults": func(s *Space, _ *Options) { s.Most = 2000 },
		"cover none of the faults [evict split-brain]": func(s *Space, _ *Options) {
			s.Within, s.Faults = true, []fault.Kind{fault.Evict, fault.SplitBrain}
		},
		"from 2 to 1": func(_ *Space, o *Options) { o.From = 2 },
	} {
		space, options := drawn(Mixed(), library), Options{To: 1}
		change(&space, &options)
		_, err := Search(t.Context(), space, options)
		for _, err := range []error{err, Serve(space, options, "0/1", io.Discard)} {
			require.ErrorIs(t, err, ErrSpace, "%s", says)
			assert.ErrorContains(t, err, says)
		}
	}
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
// of them.
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
		small, _, err := space.Shrink(t.Context(), first(t, space, test.kind, test.from))
		require.NoError(t, err)
		assert.Equal(t, test.want, small.Assumption, "%s: %v", test.fault, small.Setup.Schedule)
		assert.Equal(t, test.kind, small.Kind)
	}
}

// Whatever happens to clients, messages and servers, no workload finds a broken promise. What the
// runs must have reached is listed, because otherwise nothing is shown.
func TestWorkloads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	usual := []fault.Kind{fault.Crash, fault.Reboot, fault.Restart, fault.Failover, fault.Hang, fault.Cut, fault.Lose, fault.Reorder, fault.Step}
	between := []fault.Kind{fault.Switch, fault.Restart, fault.Failover, fault.Hang, fault.Cut, fault.Lose}
	within := drawn(Mixed(), library)
	within.Within = true
	for name, test := range map[string]struct {
		space   Space
		reached []string
		// breaks finds two holders: the same workload without a guard, or with a worse fault.
		// The search begins at a seed near the first of them.
		breaks []Space
		from   uint64
	}{
		"within the assumptions": {
			space:   within,
			reached: []string{"a process was paused", "a clock was stepped", "a server was restarted", "a server was flushed", "a server failed over", "a request was lost"},
			breaks:  []Space{{Workload: within.Workload, Design: designs.Design{Apply: forgetful}, Within: true}},
		},
		"goroutines that take turns with the lock": {
			space: drawn(crowdWorkload(), library, usual...),
			reached: []string{
				"a lease was extended", "a process crashed",
				"a quarantine began: restarted", "a quarantine began: clock jumped", "a reply came too late",
			},
			breaks: []Space{drawn(crowdWorkload(), unwatched, fault.Restart, fault.Failover)}, from: 16,
		},
		"hand-offs by letters": {
			space: drawn(relayWorkload(), guarded, append(usual, fault.Pause, fault.Delay)...),
			reached: []string{
				"a lease was handed off", "a lease was resumed", "a lease was extended", "a process crashed", "a value was replaced by the next one",
				"a process was paused", "no lease: " + quorum.ErrLost.Error(),
			},
		},
		"hand-offs, and what stands between clients and servers": {
			space: drawn(relayWorkload(), library, between...),
			reached: []string{
				"a lease was resumed", "an address was switched",
				"a server was asked in another run than its own", "a quarantine began: restarted",
			},
			breaks: []Space{drawn(relayWorkload(), unwatched, between...), drawn(relayWorkload(), hidden, between...)}, from: 32,
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := find(t, test.space, 0, long.Number[uint64](64, 32))
			for _, f := range report.Findings {
				// Servers may restart before their votes arrive, which breaks assumption 3.
				assert.True(t, f.Assumption == 3 && !test.space.Within, "%v", f)
			}
			for _, what := range test.reached {
				assert.Positive(t, report.Counts[what], "%q never happened, so nothing is shown", what)
			}
			assert.Contains(t, report.Unreached(), "a server split in two", "it isn't drawn")
			for seed := range uint64(8) {
				setup, digests := test.space.Setup(seed), map[string]bool{}
				for procs := range 2 {
					runtime.GOMAXPROCS(1 + procs)
					r, err := test.space.Play(setup)
					require.NoError(t, err)
					digests[r.Log.Digest()] = true
				}
				assert.Len(t, digests, 1, "seed %d has one outcome, though goroutines wake each other, handles pass, and connections lead to several servers", seed)
			}
			for _, space := range test.breaks {
				first(t, space, record.TwoHolders, test.from)
			}
		})
	}
}

// ShrinkSchedule asks only its caller. It leaves out what isn't needed, and makes the rest shorter.
func TestShrinkSchedule(t *testing.T) {
	many := simulation.Schedule{
		{Kind: fault.Crash, Process: "c1", At: time.Second}, {Kind: fault.Hang, Server: "A", At: 1234567 * time.Microsecond, For: 9 * time.Second},
		{Kind: fault.Flush, Server: "B", At: 2 * time.Second}, {Kind: fault.Pause, Process: "c2", At: 3 * time.Second, For: time.Second},
	}
	calls := 0
	hangs := func(s simulation.Schedule) bool {
		calls++
		return slices.ContainsFunc(s, func(f fault.Fault) bool {
			return f.Kind == fault.Hang && f.For >= 4*time.Second && f.At > time.Second
		})
	}
	small, runs := ShrinkSchedule(t.Context(), many, hangs)
	assert.Equal(t, calls, runs)
	require.Len(t, small, 1)
	assert.Equal(t, fault.Hang, small[0].Kind)
	assert.True(t, hangs(small))
	assert.Equal(t, 5*time.Second, small[0].For, "shorter, and round")
	assert.Len(t, many, 4, "the caller's schedule is unchanged")
	assert.Equal(t, 9*time.Second, many[1].For)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	same, runs := ShrinkSchedule(ended, many, hangs)
	assert.Equal(t, many, same)
	assert.Zero(t, runs)
}

// Many faults at once break a lock without a guard before the resource. Shrinking leaves one or
// two that still break it, and none without need.
func TestShrink(t *testing.T) {
	space := drawn(Mixed(), library, fault.Duplicate, fault.Pause, fault.Crash, fault.Hang, fault.Cut)
	space.Most = 12
	f := first(t, space, record.LostUpdate, 0)
	small, runs, err := space.Shrink(t.Context(), f)
	require.NoError(t, err)
	schedule := small.Setup.Schedule
	assert.Contains(t, []int{1, 2}, len(schedule), "%d runs: from %d faults to %+v", runs, len(f.Setup.Schedule), schedule)
	assert.Less(t, runs, 1000)
	shows := func(schedule simulation.Schedule) bool {
		r, err := space.Play(Setup{f.Setup.Seed, schedule})
		require.NoError(t, err)
		return slices.Contains(r.Kinds(), f.Kind)
	}
	assert.True(t, shows(schedule))
	for i := range schedule {
		assert.False(t, shows(slices.Delete(slices.Clone(schedule), i, i+1)))
	}
	f.Kind = record.NeverFree
	_, _, err = space.Shrink(t.Context(), f)
	require.ErrorContains(t, err, `doesn't show "never free"`)
}
