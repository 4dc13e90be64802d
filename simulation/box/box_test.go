//go:build unix

package box

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/record"
)

// options are those of a driver that is broken in some ways.
func options(t *testing.T, words string) Options {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return Options{Command: []string{"env", driverVariable + "=" + words, program}, Embedded: true, TTL: 700 * time.Millisecond}
}

// longer plays with longer and longer leases until it is as it has to be. On a busy machine a short lease may run out
// before the client has used it, which then shows nothing, and a client may time out without a fault.
func longer(o Options, asItHasToBe func(o Options) bool) {
	for !asItHasToBe(o) && o.TTL < 10*time.Second {
		o.TTL, o.ShrinkFor = 4*o.TTL, 4*o.ShrinkFor
	}
}

// runs runs the box until its report is as it has to be.
func runs(t *testing.T, o Options, asItHasToBe func(r Report) bool) (r Report) {
	t.Helper()
	longer(o, func(o Options) bool {
		var err error
		r, err = Run(t.Context(), o)
		require.NoError(t, err)
		return asItHasToBe(r)
	})
	return r
}

// unexplained reports whether a busy machine explains none of the findings: a right client whose servers answer too
// late for it may not get a free lock, and may leave keys behind.
func (r Report) unexplained() bool {
	return !slices.ContainsFunc(r.kinds(), func(k Kind) bool {
		return slices.Contains([]Kind{OverOnArrival, NoProgress, NoAnswer, LeftBehind, WrongReason, Slow}, k)
	})
}

func (r Report) kinds() (all []Kind) {
	for _, b := range r.Broken {
		all = append(all, b.Kind)
	}
	return all
}

// What is found is found again by the schedule of the report.
func TestAPausedHolderIsFound(t *testing.T) {
	t.Parallel()
	const found = "  a limit of the algorithm: c1 wrote too late: c2, with a later lease, had used the resource (again in 3 of 3 plays)."
	o := options(t, "")
	o.Faults = []string{"pause"}
	var again Report
	r := runs(t, o, func(r Report) bool {
		i := slices.Index(r.kinds(), StaleWrite)
		if i < 0 {
			return false
		}
		given := options(t, "")
		given.TTL, given.Schedule = r.TTL, r.Broken[i].Shown.Schedule.String()
		var err error
		again, err = Run(t.Context(), given)
		require.NoError(t, err)
		return strings.Contains(again.Text(true), found)
	})
	assert.NotContains(t, r.kinds(), TwoHolders, r.Text(false))
	assert.Contains(t, again.Text(true), found)
	assert.Contains(t, again.Text(true), `stale write by pause, in "the given schedule"`)
	assert.Equal(t, 10, again.Played())
}

// Each way in which a client can be broken is found.
func TestBrokenClientsAreFound(t *testing.T) {
	for _, tc := range []struct {
		words, fault string
		kind         Kind
	}{
		{"ignores-deadline", "none", TwoHolders},
		{"deletes-all", "pause", TwoHolders},
		{"always-held", "none", TwoHolders},
		{"minority", "network", TwoHolders},
		{"late-held", "pause", OverOnArrival},
		{"forgets-value", "none", LeftBehind},
		{"seconds", "none", TooLong},
		{"same-token", "none", TokenOrder},
	} {
		t.Run(tc.words, func(t *testing.T) {
			if tc.fault != noFault {
				long.Test(t, "it shortens schedules, which takes seconds")
			}
			t.Parallel()
			o := options(t, tc.words)
			o.Faults = []string{tc.fault}
			r := runs(t, o, func(r Report) bool { return slices.Contains(r.kinds(), tc.kind) })
			assert.Contains(t, r.kinds(), tc.kind, r.Text(false))
			if tc.kind == OverOnArrival {
				assert.NotContains(t, r.kinds(), TwoHolders, "the other holder is right")
			}
		})
	}
}

// Each fault finds a bug. Those that lose votes are told apart by clients that protect themselves against some of them:
// one that wants to find its mark on a server, and one that wants to find the server in the run in which it was when the
// client was opened.
func TestEachFaultFindsItsBug(t *testing.T) {
	long.Test(t, "its leases run out in real time")
	instancetest.Since(t, 6, 0) // skips it if there is none
	for _, tc := range []struct {
		words   string
		kind    Kind
		finds   []string
		doesNot []string
	}{
		{"never-releases", LeftBehind, []string{noFault}, nil},
		{"extends-all", TwoHolders, []string{"pause"}, []string{noFault}},
		{"forever", NeverFree, []string{"crash"}, []string{noFault}},
		{"patient", Slow, []string{"hang"}, []string{noFault, "stop"}},
		{"all", NoProgress, []string{"stop"}, []string{noFault}},
		{"waits same-value", TwoHolders, []string{"network"}, []string{noFault}},
		{"half", TwoHolders, []string{evenNumber}, []string{noFault, "stop"}},
		{"", TwoHolders, []string{"restart"}, []string{noFault, "crash", "hang", "stop", "network", evenNumber}},
		{"marks", TwoHolders, []string{"old data", "failover"}, []string{"restart", "flush"}},
		{"runs", TwoHolders, []string{"flush"}, []string{"restart", "old data", "failover"}},
		{"marks runs", TwoHolders, []string{clockFault, "address"}, []string{"restart", "old data", "flush", "failover"}},
	} {
		t.Run(tc.words, func(t *testing.T) {
			t.Parallel()
			o := options(t, tc.words)
			o.Embedded, o.Faults = false, slices.Concat(tc.finds, tc.doesNot)
			var missed, wrong []string
			r := runs(t, o, func(r Report) bool {
				missed, wrong = nil, nil
				for _, fault := range o.Faults {
					played := slices.ContainsFunc(r.Tallies, func(t *Tally) bool { return t.Fault == fault })
					found := slices.ContainsFunc(r.of(fault), func(b *Broken) bool { return b.Kind == tc.kind })
					switch expected := slices.Contains(tc.finds, fault); {
					case !played && fault == clockFault: // it can't be had here
					case expected && !found:
						missed = append(missed, fault)
					case found && !expected:
						wrong = append(wrong, fault)
					}
				}
				return len(missed)+len(wrong) == 0
			})
			assert.Empty(t, missed, "faults that have to find it\n"+r.Text(false))
			assert.Empty(t, wrong, "faults that must not\n"+r.Text(false))
		})
	}
}

// A lock that is set in one step and gets its expiry in another is told apart from what a pause does to every lock.
func TestLimitsAreToldApart(t *testing.T) {
	t.Parallel()
	o := options(t, "two-steps")
	o.Faults, o.Allow = []string{"pause"}, []string{limits}
	r := runs(t, o, func(r Report) bool {
		return r.NotAllowed() == "pause: never free" && r.Allowed() == "pause: stale write, lost update"
	})
	assert.Equal(t, "pause: never free", r.NotAllowed(), r.Text(false))
	assert.Equal(t, "pause: stale write, lost update", r.Allowed(), r.Text(false))
	assert.Contains(t, r.conclusions()[0], "the Redis document's lock keeps: pause: never free.")
	assert.Equal(t, NeverFree, r.Broken[0].Kind, "the client's own comes first")
}

// What breaks when a lease runs out isn't the work of a fault: it stands in the row of the schedules without one.
func TestFaultsAreNotBlamedForMore(t *testing.T) {
	t.Parallel()
	o := options(t, "ignores-deadline")
	o.Faults, o.ShrinkFor = []string{"pause"}, 10*time.Second
	r := runs(t, o, func(r Report) bool { return strings.HasPrefix(r.NotAllowed(), "without a fault: two holders") })
	assert.True(t, strings.HasPrefix(r.NotAllowed(), "without a fault: two holders"), r.Text(false))
	assert.NotContains(t, r.NotAllowed(), "pause: two holders")
	assert.Contains(t, r.Text(false), "two holders without a fault, shortened from \"a ")
	assert.Empty(t, r.Unknown(), "the row without a fault was not asked for")
}

// A broken driver gets a sentence and never a finding.
func TestBrokenDrivers(t *testing.T) {
	for words, says := range map[string]string{
		"mute":         "hasn't answered hello within",
		"dies":         `ended (exit status 3); its standard error ends with: the driver gives up`,
		"garbage":      `printed "connecting to the servers ...", which isn't JSON; logs belong on standard error`,
		"wrong-id":     "answered to id 10, which nobody asked",
		"wrong-type":   `in which "held" is the wrong type, a string`,
		"two":          `answered hello with "servers":"two", want "one" or "many"`,
		"flies":        `answered hello with "can":["fly"], want "extend", "token", "wait" or "tell"`,
		"no-name":      `answered hello without a "name"`,
		"says-nothing": `answered acquire with neither "held":true nor a "why"`,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			o := options(t, words)
			if words == "mute" {
				o.startLimit = time.Second
			}
			_, err := Run(t.Context(), o)
			require.ErrorAs(t, err, new(DriverError))
			assert.Contains(t, err.Error(), says)
		})
	}
}

// A play is skipped if a client doesn't get its first lock. If there is no other, that is an error.
func TestSkippedPlays(t *testing.T) {
	t.Parallel()
	o := options(t, "third-misses")
	o.Faults, o.startLimit = []string{"none", "crash"}, 10*o.TTL // a busy machine takes long to start a driver
	r := runs(t, o, func(r Report) bool { return len(r.Tallies) == 2 && r.Tallies[0].Skipped == 1 })
	require.Len(t, r.Tallies, 2)
	assert.Equal(t, 1, r.Tallies[0].Skipped)
	assert.Equal(t, 3, r.Tallies[0].Plays)
	assert.Equal(t, 2, r.Tallies[1].Plays)
	assert.Contains(t, r.Text(false), "Skipped: 1 play, because a client did not get its first lock: box: the driver of c3 didn't get a free lock from healthy servers within 7s: missed")

	o = options(t, "all-miss")
	o.Faults, o.startLimit, o.Parallel = []string{"none"}, 10*o.TTL, 1
	_, err := Run(t.Context(), o)
	assert.ErrorContains(t, err, "the driver of c1 didn't get a free lock from healthy servers within 7s: missed")
}

// Each fault strikes in its fixed schedules.
func TestFaultsStrike(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	o.Faults = slices.DeleteFunc(Faults(), func(fault string) bool { return slices.Contains(ofProcesses, fault) })
	own := func(r Report) string { return r.list(func(b *Broken) bool { return !b.Limit }) }
	r := runs(t, o, func(r Report) bool { return r.Unknown() == "" && own(r) == "" })
	assert.Len(t, r.Tallies, len(o.Faults))
	assert.Empty(t, r.Unknown(), r.Text(false))
	assert.Empty(t, own(r), r.Text(false))

	plays := func(schedule string) (Play, error) {
		o := options(t, "")
		o.TTL, o.Schedule = 20*time.Second, schedule // no lease may run out
		return Once(t.Context(), o)
	}
	// Nobody holds the lock when the client dies, and the server is empty when it starts again.
	for fault, schedule := range map[string]string{"crash": "kill c1, spawn c1", "restart": "stop A, start A, c1 tries", "hang": "hang A, wake A, c1 tries", "pause": "c1 sends, c1 lands"} {
		p, err := plays("c1 waits, c1 releases, " + schedule)
		require.NoError(t, err)
		assert.False(t, p.struck(fault), schedule)
	}
	p, err := plays("cut A, c1 tries")
	require.NoError(t, err)
	assert.True(t, p.struck("network"), "without a client, a step is about the links of all")
}

func TestOptions(t *testing.T) {
	for says, change := range map[string]func(*Options){
		"no command":          func(o *Options) { o.Command = nil },
		"executable file not": func(o *Options) { o.Command = []string{"there-is-no-such-driver"} },
		"10 servers, want 1":  func(o *Options) { o.Servers = 10 },
		"a TTL of 1ms":        func(o *Options) { o.TTL = time.Millisecond },
		`no fault "weather"; there are ["none" "pause"`:                        func(o *Options) { o.Faults = []string{"weather"} },
		`nothing to allow is called "weather: slow": want a fault,`:            func(o *Options) { o.Allow = []string{"weather: slow"} },
		`nothing to allow is called "pause: rain"`:                             func(o *Options) { o.Allow = []string{"pause: rain"} },
		`nothing to allow is called "slow"`:                                    func(o *Options) { o.Allow = []string{"slow"} },
		"17 plays at once, want":                                               func(o *Options) { o.Parallel = 17 },
		`the step "hang AD" names a server that isn't there; there are 3, ABC`: func(o *Options) { o.Servers, o.Schedule = 3, "hang AD" },
		`the schedule "hang MIN" has no step for so few servers`:               func(o *Options) { o.Servers, o.Schedule = 1, "hang MIN" },
	} {
		o := options(t, "")
		change(&o)
		_, err := Run(t.Context(), o)
		require.ErrorIs(t, err, ErrOptions, says)
		assert.Contains(t, err.Error(), says)
	}
	o := options(t, "one")
	o.Servers = 3
	_, err := Run(t.Context(), o)
	assert.ErrorContains(t, err, "3 servers, but document takes one")
}

// The random schedules are played until the time is up, and the context ends everything.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	o.Faults, o.For = []string{"crash", "hang", "stop"}, time.Hour
	var r Report
	longer(o, func(o Options) bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		plays, said := 0, []string{}
		o.Say = func(text string, replaces bool) {
			if !replaces {
				said = append(said, text)
			} else if plays++; plays == 12 {
				cancel()
			}
		}
		var err error
		r, err = Run(ctx, o)
		require.ErrorIs(t, err, context.Canceled)
		assert.GreaterOrEqual(t, plays, 12)
		assert.Equal(t, []string{"accepted: document 1, 5 x embedded servers; 6 schedules", "random schedules for 1h0m0s"}, said)
		return r.unexplained()
	})
	assert.Empty(t, r.kinds(), r.Text(false))
}

// One schedule is shown once, with all that it shows, and what is to be known of its play. What only this client
// shows comes first.
func TestReport(t *testing.T) {
	paused := Play{
		Schedule: Schedule{{Do: pause, Client: "c1"}}, TTL: time.Second, Servers: 4, Late: "spawn c1 took 1.7s",
		Record:   record.Log{{Process: "c1", Op: "wrote", Lease: 3, Goroutine: 2, Token: 5}},
		Findings: []Finding{{StaleWrite, 1, "c1 wrote late"}, {LostUpdate, 1, "c1 wrote over"}},
	}
	bare := Play{Schedule: Schedule{{Do: waits, Client: "c1"}}, Servers: 5, Findings: []Finding{{NeverFree, 1, "c1 waits forever"}}}
	restarted := Play{Schedule: Schedule{{Do: start, Servers: "A"}}, Servers: 5, Findings: []Finding{{TwoHolders, 1, "c1 and c2"}}}
	b := &box{options: Options{Allow: []string{"pause: lost update", "restart"}}, report: Report{
		Name: "<a client>", Servers: "redis", Count: 5, Reference: Reference{
			Name: "the document", Version: "7", Servers: "redis", Count: 5, Commit: "abc", Day: "2026-11-29",
			Faults: map[string][]Kind{"pause": {StaleWrite, LostUpdate}, "restart": {TwoHolders}},
		},
		Tallies: []*Tally{
			{Fault: "old data", Plays: 1, Struck: 1, Broke: 1}, {Fault: "restart", Plays: 1, Struck: 1, Broke: 1},
			{Fault: "hang", Plays: 1, Skipped: 1}, {Fault: "pause", Plays: 2, Struck: 2, Broke: 1, Refused: 3},
		},
		Broken: []*Broken{
			{Fault: "old data", Kind: TwoHolders, Plays: 1, Title: "a title", Shown: restarted}, // it has no step of it
			{Fault: "restart", Kind: TwoHolders, Plays: 1, Title: "a title", Shown: restarted},
			{Fault: "pause", Kind: StaleWrite, Plays: 1, Title: "a title", Shown: paused, Repeated: 1, Again: 1, whole: 2},
			{Fault: "pause", Kind: LostUpdate, Plays: 1, Title: "a title", Shown: paused, whole: 2},
			{Fault: "pause", Kind: NeverFree, Plays: 2, Title: "a title", Shown: bare, whole: 1}, // the other play may need the pause
		},
		WhySkipped: "c1 got nothing",
	}}
	b.conclude()
	r := b.report
	text := r.Text(true)
	text = text[:strings.Index(text, "\nlost update by pause")]
	assert.Equal(t, `<a client>, 5 x redis, TTL 0s, in 0s

fault     plays  struck  found, in how many plays                                            the Redis document's lock
none      0      0       ! never free (1)                                                    -
pause     2      2       stale write (1), lost update (1), late writes refused by token (3)  stale write, lost update
hang      1      0       -                                                                   -
restart   1      1       two holders (1)                                                     two holders
old data  1      1       -                                                                   -

!: only this client shows it. The Redis document's lock: the document 7, 5 x redis, recorded on 2026-11-29 at commit abc.
two holders: `+TwoHolders.Means()+`
stale write: `+StaleWrite.Means()+`
lost update: `+LostUpdate.Means()+`
never free: `+NeverFree.Means()+`

never free without a fault, in "a title"
  this client's own: c1 waits forever (not played again, because the time was up).
  again: -servers 5 -ttl 0s -schedule "c1 waits"

stale write by pause, shortened from "a title"
  a limit of the algorithm: c1 wrote late (again in 1 of 1 play). The machine was slow: spawn c1 took 1.7s. A lease of 1s may have run out meanwhile; try a longer TTL.
  again: -servers 4 -ttl 1s -schedule "pause c1"
     1    0.00s  c1  wrote                  lease 2, token 5, value 0  <--
`, text)
	assert.Equal(t, []string{
		"Verdict: <a client> breaks promises that the Redis document's lock keeps: without a fault: never free.",
		"Limits of the algorithm (-allow limits), which the Redis document's lock has under the same faults: pause: stale write, lost update; restart: two holders.",
		"Allowed: pause: lost update; restart: two holders. Not allowed: without a fault: never free; pause: stale write.",
		"Unknown: hang never struck, so nothing is known of it.",
		"Skipped: 1 play, because a client did not get its first lock: c1 got nothing.",
	}, r.conclusions())

	assert.NotContains(t, r.Text(false), "value 0", "what happened")

	b.options.Allow = []string{"none: never free", limits}
	b.conclude()
	assert.Empty(t, r.NotAllowed())

	r.Broken = r.of("restart")
	assert.Equal(t, "Verdict: nothing that broke is <a client>'s own.", r.conclusions()[0])
	r.Broken[0].Limit = false
	assert.Equal(t, "Verdict: <a client> breaks promises that the Redis document's lock keeps: restart: two holders.", r.conclusions()[0])
	r.Broken = nil
	assert.Equal(t, "Verdict: no promise broke.", r.conclusions()[0])
	r.Tallies = nil
	assert.Equal(t, "Verdict: none, because nothing was played.", r.conclusions()[0])
}

// A run that plays nothing is no pass.
func TestNothingIsPlayed(t *testing.T) {
	o := options(t, "")
	o.Faults = []string{clockFault} // which embedded servers don't have
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Zero(t, r.Played())
	assert.Equal(t, clockFault, r.Unknown())
	assert.Contains(t, r.Text(false), "Verdict: none, because nothing was played.")
}

// A step that took half a TTL while a lease ran is noted, unless it had to wait.
func TestSlowSteps(t *testing.T) {
	for step, want := range map[string]bool{"c1 works": true, "spawn c2": true, "c1 waits": false, "c2 works": false} {
		first, second := &client{name: "c1", holds: true, links: []*link{{}}}, &client{name: "c2", links: []*link{{faults: Schedule{{Do: cut}}}}}
		s := &stage{play: &Play{}, clients: []*client{first, second}, servers: []*server{{state: up}}, Fleet: &Fleet{ttl: time.Second}}
		parsed, err := ParseStep(step)
		require.NoError(t, err)
		s.clocks(parsed, s.clients[strings.Count(step, "c2")], time.Now().Add(-time.Second))
		assert.Equal(t, want, s.play.Late != "", step)
		first.holds, s.play.Late = false, ""
		s.clocks(parsed, first, time.Now().Add(-time.Second))
		assert.Empty(t, s.play.Late, "nobody holds the lock")
	}
}

// A slow machine may make a lease run out, or a waiter wait in vain. That is no proof.
func TestDoubtfulPlays(t *testing.T) {
	proof, vain := []Finding{{Kind: TwoHolders}}, []Finding{{Kind: NoProgress}, {Kind: LossUntold}, {Kind: OverOnArrival}}
	for name, p := range map[string]Play{
		"a step was lost": {Late: "a", Idle: 1}, "waited in vain": {Findings: vain}, "over": {Findings: vain[2:]},
	} {
		assert.True(t, p.doubtful(), name)
		p.Findings = slices.Concat(p.Findings, proof)
		assert.False(t, p.doubtful(), name+", and a proof")
	}
	assert.False(t, Play{Idle: 1}.doubtful(), "a holder lost its lease as it had to")
	assert.False(t, Play{Late: "a"}.doubtful(), "all steps were taken")
}
