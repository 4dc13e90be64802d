package search

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/kernel"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// The five guarantees of package quorum hold, with random servers, clients, keys and faults. The test
// knows of no particular bug. Package mutants has some that it must find.
func TestRandomFaults(t *testing.T) {
	seeds := long.Number[uint64](150, 24)
	if testing.Short() {
		seeds = 8 // as with the race detector, which makes the simulation ten times slower
	}
	reached := map[string]int{}
	for seed := range seeds {
		w := drawWorld(seed)
		r, err := w.play(w.schedule)
		require.NoError(t, err, "seed %d", seed)
		found, checked := w.violations(r)
		if len(found) > 0 {
			w.explain(t, found[0])
			return
		}
		for _, counts := range []map[string]int{r.Log.Counts(), checked} {
			for what, n := range counts {
				reached[what] += n
			}
		}
	}
	if testing.Short() {
		return // not everything has happened
	}
	for _, what := range []string{
		"a lease was acquired", "a lease was extended", "extend refused", "release refused", "restore granted", "raise granted", "a vote was low",
		"a process crashed", "a process was rebooted", "a process was paused", "a clock was stepped", "a server was restarted", "a server was flushed",
		"a server failed over", "a server hung", "an address was switched", "a key was evicted", "a request was lost", "a reply was lost",
		"a quarantine began: restarted", "a server was asked in another run than its own", checkedKey, checkedRelease,
	} {
		assert.Positive(t, reached[what], "%q never happened, so nothing is shown", what)
	}
}

// Faults come in storms. After each of them there are none for a while, and then nothing that is still wrong has an
// excuse.
const (
	storms = 5
	storm  = 15 * time.Second
	calm   = 25 * time.Second

	maxTTL = 4 * time.Second
)

// drawnWorld is a run that is drawn from a seed.
type drawnWorld struct {
	cfg      simulation.Config
	seed     uint64
	schedule simulation.Schedule
}

func drawWorld(seed uint64) drawnWorld {
	pick := func(about uint64, n int) int { return int(kernel.Draw(seed, kernel.TagPick, 1<<60, about) % uint64(n)) }
	cfg := simulation.Config{
		Servers:   []int{3, 3, 4, 5, 5}[pick(0, 5)],
		Processes: 3 + pick(1, 2),
		Replicas:  pick(3, 2),
		Guard:     []simulation.Guarding{simulation.Unguarded, simulation.GuardAdmits}[pick(4, 2)],
		Witness:   true,
		Quorum:    quorum.Config{TTL: 3 * time.Second, MaxTTL: maxTTL, MaxWait: 8 * time.Second},
	}
	if pick(5, 3) == 0 {
		cfg.LatencyMin = time.Duration(pick(6, 10)) * time.Millisecond
		cfg.LatencyMax = cfg.LatencyMin + time.Duration(1+pick(7, 15))*time.Millisecond
	}
	if pick(8, 4) == 0 {
		cfg.Quorum.Lab.Notifications = quorum.Off
	}
	w := drawnWorld{cfg, seed, drawStorms(seed, cfg)}
	if pick(9, 4) == 0 {
		w.schedule = append(w.schedule, drawEvictions(seed, cfg)...)
	}
	for i := range w.schedule {
		w.schedule[i].At += w.schedule[i].At / storm * calm
	}
	return w
}

func serverName(i int) string { return string(rune('A' + i)) }

// drawStorms draws faults that the assumptions cover. Beside those that simulation.Draw draws, some strike all servers at
// once, some lose two messages or many, whoever they are for, and some partitions leave a client only one server.
func drawStorms(seed uint64, cfg simulation.Config) simulation.Schedule {
	var all simulation.Schedule
	for i, f := range simulation.Draw(seed, cfg, coverable(fault.Kinds()), 60, storms*storm) {
		n := kernel.Draw(seed, kernel.TagPick, 1<<61, uint64(i))
		other := n%4 == 0
		switch {
		case f.Kind == fault.Crash: // else no client would be left in the end
			f.Kind, f.For = fault.Reboot, 2*time.Second
		case other && slices.Contains([]fault.Kind{fault.Restart, fault.Failover, fault.Flush, fault.Hang}, f.Kind):
			f.Server = fault.Any
		case other && (f.Kind == fault.Pause || f.Kind == fault.Suspend):
			f.Nth, f.Op = 1+int(n/4%12), wire.Extend.String() // between the requests of one extension, too
		case n%4 == 1 && f.Kind == fault.Lose:
			f.Server, f.For = fault.Any, max(f.For, time.Second)
		case other && f.Kind == fault.Lose:
			ops := []wire.Op{wire.Acquire, wire.Raise, wire.Raise, wire.Extend, wire.Restore, wire.Release}
			f.Nth, f.Op, f.For, f.PPM = 1+int(f.PPM%8), ops[f.PPM/8%6].String(), 0, 0
			f.Server, f.Way = fault.Any, cmp.Or(f.Way, fault.Requests)
			all = append(all, f)
			f.Nth++
		case other && f.Kind == fault.Cut:
			for server := range cfg.Servers - 1 { // one of these twice, or none
				cut := f
				cut.Server = serverName(server)
				all = append(all, cut)
			}
		case f.OnLinks() && (f.For == 0 || f.Nth > 0): // so that it ends, and the log has its beginning
			f.For, f.Nth, f.Op = time.Second, 0, ""
		}
		all = append(all, f)
	}
	return within(all, cfg)
}

// drawEvictions draws keys and counters that servers lose, and locks that an operator deletes on all servers. That
// breaks assumption 3, so two clients may have a lock then. But what only this package checks holds.
func drawEvictions(seed uint64, cfg simulation.Config) simulation.Schedule {
	all := simulation.Draw(^seed, cfg, []fault.Kind{fault.Evict}, 60, storms*storm)
	for i := range all {
		if n := kernel.Draw(seed, kernel.TagPick, 1<<62, uint64(i)); n%4 == 0 {
			all[i].Server, all[i].Key = fault.Any, stormKeys[n/4%4]
		}
	}
	return all
}

func (w drawnWorld) play(schedule simulation.Schedule) (simulation.Result, error) {
	return simulation.Run(w.seed, w.cfg, schedule, lockInStorms)
}

// violations are those that no broken assumption excuses, in the order of time, and what was counted.
func (w drawnWorld) violations(r simulation.Result) ([]record.Violation, map[string]int) {
	found, counts := judged(w.cfg, r)
	for _, v := range r.Log.Violations() {
		if excuse(w.cfg, r, v) == 0 {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b record.Violation) int { return cmp.Compare(a.At, b.At) })
	return found, counts
}

// explain fails the test with the smallest schedule that shows the same kind of violation. With -artifacts the run's
// trace is kept.
func (w drawnWorld) explain(t *testing.T, v record.Violation) {
	t.Helper()
	until := time.Now().Add(long.Number(time.Minute, 5*time.Second))
	last, runs, trace := v, 0, ""
	smaller := shrink(w.schedule, func(smaller simulation.Schedule) bool {
		if time.Now().After(until) {
			return false
		}
		runs++
		r, err := w.play(smaller)
		if err != nil {
			return false
		}
		found, _ := w.violations(r)
		i := slices.IndexFunc(found, func(f record.Violation) bool { return f.Kind == v.Kind })
		if i >= 0 {
			last, trace = found[i], r.Log.String()
		}
		return i >= 0
	})
	require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), "trace"), []byte(trace), 0o600))
	faults, err := json.Marshal(smaller)
	require.NoError(t, err)
	assert.Fail(t, "a guarantee is broken", "seed %d: %v\nOf its %d faults, after %d more runs, %d are left, which show: %v\n%s",
		w.seed, v, len(w.schedule), runs, len(smaller), last, faults)
}

// stormKeys are the keys. The first is used most.
var stormKeys = []string{"k", "k", "l", "m"}

// What a client draws for each turn, besides what it draws in a mixed one.
const (
	stormKey = abouts + iota
	stormOther
	stormPause
	stormWay
	stormUse
	stormTimes
	stormPauses // many of them
	stormsOf    = stormPauses + mostTimes
)

const mostTimes = 22

// lockInStorms is what the clients do until the last calm is over: turn after turn, they lock one of the keys, or two.
func lockInStorms(c *simulation.Client) {
	look(c)
	for turn := 0; time.Duration(c.Clock().Now().UnixNano()-kernel.Epoch) < storms*(storm+calm); turn++ {
		lockInStorm(c, draws{c, turn * stormsOf})
	}
}

func lockInStorm(c *simulation.Client, d draws) {
	key := stormKeys[d.pick(stormKey, len(stormKeys))]
	c.Sleep(time.Millisecond + d.some(stormPause, 500, 3000))
	switch d.pick(stormWay, 8) {
	case 0:
		if other := stormKeys[d.pick(stormOther, len(stormKeys))]; other != key {
			if leases, err := c.TryAcquireAll(key, other); err == nil {
				use(c, d, leases...)
			}
		}
	case 1, 2: // it needs the lock often, and for a moment
		for n := range 2 + d.pick(stormTimes, mostTimes-2) {
			if lease, err := c.TryAcquire(key); err == nil {
				release(c, lease)
			}
			c.Sleep(d.some(stormPauses+n, 20, 60))
		}
	default:
		if lease := get(c, key, d.pick(aboutWaiting, 3)); lease != nil {
			useInStorm(c, d, lease)
		}
	}
}

// noteReleased is the note with which clients tell the judge that a release had no error.
const noteReleased = "released"

func release(c *simulation.Client, lease simulation.Lease) {
	if c.Release(lease) == nil { // the log has its error
		c.Note(noteReleased)
	}
}

// useInStorm is what a client does with a lease on one key.
func useInStorm(c *simulation.Client, d draws, lease simulation.Lease) {
	thinks := d.some(aboutThinking, 300, 600)
	switch d.pick(stormUse, 4) {
	case 0:
		use(c, d, lease)
		return
	case 1, 2: // it works for longer than a TTL
		for range 2 + d.pick(stormTimes, 8) {
			update(c, lease, thinks)
			c.Sleep(d.ms(aboutWork, 2000))
			extend(c, lease)
			if !c.Valid(lease) {
				break
			}
		}
	default: // it may be too slow for its lease
		update(c, lease, thinks)
		c.Sleep(d.ms(aboutWork, 4000))
	}
	release(c, lease)
}
