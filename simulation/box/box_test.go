//go:build unix

package box

import (
	"context"
	"errors"
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
	return Options{Command: []string{"env", driverVariable + "=" + words, program}, Embedded: true, TTL: 500 * time.Millisecond}
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
		if r, err = Run(t.Context(), o); errors.As(err, &skippedError{}) {
			return false // no client got its first lock in time
		}
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
		return len(again.Broken) > 0 && again.Broken[0].Repeated >= 5
	})
	assert.NotContains(t, r.kinds(), TwoHolders, r.Text(false))
	assert.Regexp(t, `stale write(, lost update)? by pause, in "the given schedule"
  a limit of the algorithm: c1 wrote too late: c2, with a later lease, had used the resource \(again in ([5-9]|10) of 10 plays\)`, again.Text(true))
}

// Each way in which a client can be broken is found, under the faults that show it and under no others. Faults that lose
// votes are told apart by clients that protect themselves against some of them: one that wants to find its mark on a
// server, and one that wants to find the server in the run in which it was when the client was opened.
func TestBrokenClientsAreFound(t *testing.T) {
	for _, tc := range []struct {
		words   string
		kind    Kind
		finds   []string
		doesNot []string
	}{
		{"ignores-deadline", TwoHolders, []string{noFault}, nil},
		{"forgets-value", LeftBehind, []string{noFault}, nil},
		{"seconds", TooLong, []string{noFault}, nil},
		{"same-token", TokenOrder, []string{noFault}, nil},
		{"deletes-all", TwoHolders, []string{"pause"}, nil},
		{"late-held", OverOnArrival, []string{"pause"}, nil},
		{"minority", TwoHolders, []string{"network"}, nil},
		{"two-steps", NeverFree, []string{"pause"}, nil},
		{"extends-all", TwoHolders, []string{"pause"}, []string{noFault}},
		{"forever", NeverFree, []string{"crash"}, []string{noFault}},
		{"patient", Slow, []string{"hang"}, []string{noFault, "stop"}},
		{"all", NoProgress, []string{"stop"}, []string{noFault}},
		{"waits same-value", TwoHolders, []string{"network"}, []string{noFault}},
		{"half", TwoHolders, []string{evenNumber}, []string{noFault, "stop"}},
		{"marks", TwoHolders, []string{"old data", "failover"}, []string{"restart", "flush"}},
		{"runs", TwoHolders, []string{"flush"}, []string{"restart", "old data", "failover"}},
		{"marks runs", TwoHolders, []string{clockFault, "address"}, []string{"restart", "old data", "flush", "failover"}},
	} {
		t.Run(tc.words, func(t *testing.T) {
			o := options(t, tc.words)
			o.Faults = slices.Concat(tc.finds, tc.doesNot)
			if !slices.Equal(o.Faults, []string{noFault}) {
				long.Test(t, "its leases run out in real time")
			}
			if o.Embedded = len(tc.doesNot) == 0; !o.Embedded {
				instancetest.Since(t, 6, 0) // skips it if there is none
			}
			t.Parallel()
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
			if tc.kind == OverOnArrival {
				assert.NotContains(t, r.kinds(), TwoHolders, "the other holder is right")
			}
		})
	}
}

// The lock of the Redis document breaks nothing but its limits, under any fault, on one server and on several; and it
// breaks them.
func TestLimits(t *testing.T) {
	long.Test(t, "its leases run out in real time")
	instancetest.Since(t, 6, 0) // skips it if there is none
	for _, words := range []string{"", "one"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			o := options(t, words)
			o.Embedded = false
			own := func(r Report) string { return r.list(func(b *Broken) bool { return !b.Limit }) }
			missed := func(r Report) (all []string) {
				for _, tally := range r.Tallies {
					for _, kind := range Limits(tally.Fault) {
						if !slices.ContainsFunc(r.of(tally.Fault), func(b *Broken) bool { return b.Kind == kind }) {
							all = append(all, tally.Fault+": "+string(kind))
						}
					}
				}
				return all
			}
			r := runs(t, o, func(r Report) bool { return own(r) == "" && missed(r) == nil })
			assert.Empty(t, own(r), r.Text(false))
			assert.Empty(t, missed(r), r.Text(false))
			assert.Empty(t, r.Unknown())
		})
	}
}

// What breaks when a lease runs out isn't the work of a fault: it stands in the row of the schedules without one.
func TestFaultsAreNotBlamedForMore(t *testing.T) {
	t.Parallel()
	o := options(t, "ignores-deadline")
	o.Faults, o.ShrinkFor = []string{"pause"}, 2*time.Second
	r := runs(t, o, func(r Report) bool { return strings.HasPrefix(r.NotAllowed(), "without a fault: two holders") })
	assert.True(t, strings.HasPrefix(r.NotAllowed(), "without a fault: two holders"), r.Text(false))
	assert.NotContains(t, r.NotAllowed(), "pause: two holders")
	assert.Contains(t, r.Text(false), "two holders without a fault, shortened from \"a ")
	assert.Empty(t, r.Unknown(), "the row without a fault was not asked for")
}

// A broken driver gets a sentence and never a finding.
func TestBrokenDrivers(t *testing.T) {
	const hello, opened = `{"id":1,"name":"n","servers":"many"}`, `{"id":2}`
	for says, answers := range map[string][]string{
		`hasn't answered hello within`:                                                             nil,
		`ended (exit status 3); its standard error ends with: the driver gives up`:                 {hello, opened, givesUp},
		`printed "connecting to the servers ...", which isn't JSON; logs belong on standard error`: {hello, opened, "connecting to the servers ..."},
		`printed a line of more than 65536 bytes`:                                                  {hello, opened, strings.Repeat("x", 100<<10)},
		`answered to id 10, which nobody asked`:                                                    {hello, opened, `{"id":10}`},
		`in which "held" is the wrong type, a string`:                                              {hello, opened, `{"id":3,"held":"yes"}`},
		`which has neither an id nor the event "lost"`:                                             {hello, opened, `{"event":"found"}`},
		`says that it can't: no servers`:                                                           {hello, `{"id":2,"error":"no servers"}`},
		`answered acquire with neither "held":true nor a "why"`:                                    {hello, opened, `{"id":3}`},
		`answered hello with "servers":"two", want "one" or "many"`:                                {`{"id":1,"name":"n","servers":"two"}`},
		`answered hello with "can":["fly"], want "extend", "token", "wait" or "tell"`:              {`{"id":1,"name":"n","servers":"one","can":["fly"]}`},
		`answered hello without a "name"`:                                                          {`{"id":1,"servers":"one"}`},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			o := options(t, "says")
			o.Command = append(o.Command, answers...)
			if answers == nil {
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
	b := box{options: Options{Parallel: 2, Say: func(string, bool) {}}}
	skipped := func() error {
		return b.took(Case{Fault: "hang"}, Play{}, skippedError{errors.New("c1 got nothing")})
	}
	require.NoError(t, skipped())
	require.EqualError(t, skipped(), "c1 got nothing", "nor did the other one that plays at once")
	require.NoError(t, b.took(Case{Fault: "hang"}, Play{}, nil))
	require.NoError(t, skipped())
	assert.Equal(t, []string{
		"Verdict: no promise broke.",
		"Unknown: hang never struck, so nothing is known of it.",
		"Skipped: 3 plays, because a client did not get its first lock: c1 got nothing.",
	}, b.report.conclusions())

	o := options(t, "all-miss")
	o.TTL, o.firstLimit, o.Faults, o.Parallel = 200*time.Millisecond, 1, []string{noFault}, 1
	_, err := Run(t.Context(), o)
	require.ErrorAs(t, err, new(DriverError))
	assert.Regexp(t, "the driver of c[1-3] didn't get a free lock from healthy servers within 2s: missed", err)
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
	require.NotEmpty(t, r.Broken, "a paused holder writes late")
	assert.Zero(t, r.Broken[0].Again, "nothing is played again without ShrinkFor")

	for schedule, want := range map[string]map[string]bool{
		"c1 waits, c1 releases, kill c1, spawn c1":          {"crash": false}, // nobody holds the lock then
		"c1 waits, c1 releases, stop A, start A, c1 tries":  {"restart": false},
		"c1 waits, c1 releases, hang A, wake A, c1 tries":   {"hang": false},
		"c1 waits, c1 releases, c1 sends, c1 lands":         {"pause": false},
		"hang A, c1 tries, wake A":                          {"hang": true, "network": false, "stop": false},
		"cut A, c1 tries":                                   {"network": true, "hang": false}, // a link of all clients
		"c1 tries, c2 tries, kill c2, cut c2 A, hang A":     {"hang": true, "crash": false, "network": false},
		"c1 tries, c1 checks, c1 reads, c1 sends, c1 lands": {"pause": false}, // nobody came in between
	} {
		o := options(t, "")
		o.TTL, o.Schedule = 20*time.Second, schedule // no lease may run out
		p, err := Once(t.Context(), o)
		require.NoError(t, err)
		for fault, struck := range want {
			assert.Equal(t, struck, p.struck(fault), "%s: %s", schedule, fault)
		}
	}
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

	// A run that plays nothing is no pass.
	o = options(t, "")
	o.Faults = []string{clockFault} // which embedded servers don't have
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Zero(t, r.Played())
	assert.Equal(t, clockFault+" never struck", r.Unknown())
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

// What only this client shows comes first, and findings that need another fault, or none, are in its row.
func TestReport(t *testing.T) {
	paused := Play{
		Schedule: Schedule{{Do: pause, Client: "c1"}}, TTL: time.Second, Servers: 4,
		Record:   record.Log{{Process: "c1", Op: "wrote", Lease: 3, Goroutine: 2, Token: 5}},
		Findings: []Finding{{StaleWrite, 1, "c1 wrote late"}, {LostUpdate, 1, "c1 wrote over"}},
	}
	bare := Play{Schedule: Schedule{{Do: waits, Client: "c1"}}, Servers: 5, Findings: []Finding{{NeverFree, 1, "c1 waits forever"}}}
	restarted := Play{Schedule: Schedule{{Do: start, Servers: "A"}}, Servers: 5, Findings: []Finding{{TwoHolders, 1, "c1 and c2"}}}
	b := &box{options: Options{Allow: []string{"pause: lost update", "restart"}}, report: Report{
		Name: "<a client>", Servers: "redis", Count: 5,
		Tallies: []*Tally{
			{Fault: "old data", Plays: 1, Struck: 1}, {Fault: "restart", Plays: 1, Struck: 1},
			{Fault: "hang", Plays: 1}, {Fault: "pause", Plays: 2, Struck: 2, Refused: 3},
		},
		Broken: []*Broken{
			{Fault: "old data", Kind: TwoHolders, Plays: 1, Title: "a title", Shown: restarted}, // it has no step of it
			{Fault: "restart", Kind: TwoHolders, Plays: 1, Title: "a title", Shown: restarted},
			{Fault: "pause", Kind: StaleWrite, Plays: 1, Title: "a title", Shown: paused, Repeated: 1, Again: 1, whole: 2},
			{Fault: "pause", Kind: LostUpdate, Plays: 1, Title: "a title", Shown: paused, whole: 2},
			{Fault: "pause", Kind: NeverFree, Plays: 2, Title: "a title", Shown: bare, whole: 1}, // the other play may need the pause
		},
	}}
	b.conclude()
	r := b.report
	text := r.Text(true)
	text = text[:strings.Index(text, "\ntwo holders by restart")]
	assert.Equal(t, `<a client>, 5 x redis, TTL 0s, in 0s

fault     plays  struck  found, in how many plays                                            the Redis document's lock
none      0      0       ! never free (1)                                                    -
pause     2      2       stale write (1), lost update (1), late writes refused by token (3)  stale write, lost update
hang      1      0       -                                                                   -
restart   1      1       two holders (1)                                                     two holders, stale write
old data  1      1       - (not seen)                                                        two holders, stale write

!: only this client shows it. The Redis document's lock: Redlock on several servers, SET NX PX on one.
- (not seen): the client may be safe, or too slow for the schedules (a longer -ttl helps), or something else kept it from the lock.
two holders: `+TwoHolders.Means()+`
stale write: `+StaleWrite.Means()+`
lost update: `+LostUpdate.Means()+`
never free: `+NeverFree.Means()+`

never free without a fault, in "a title"
  this client's own: c1 waits forever (not played again).
  again: -servers 5 -ttl 0s -schedule "c1 waits"

stale write, lost update by pause, shortened from "a title"
  a limit of the algorithm: c1 wrote late (again in 1 of 1 play).
  a limit of the algorithm: c1 wrote over (not played again).
  again: -servers 4 -ttl 1s -schedule "pause c1"
     1    0.00s  c1  wrote                  lease 2, token 5, value 0  <-- stale write, lost update
`, text)
	assert.Equal(t, []string{
		"Verdict: <a client> breaks promises that the Redis document's lock keeps: without a fault: never free.",
		"Limits of the algorithm (-allow limits), which the Redis document's lock has under the same faults: pause: stale write, lost update; restart: two holders.",
		"Allowed: pause: lost update; restart: two holders. Not allowed: without a fault: never free; and limits of the algorithm: pause: stale write.",
		"Unknown: hang never struck, so nothing is known of it.",
	}, r.conclusions())

	assert.NotContains(t, r.Text(false), "value 0", "what happened")

	b.options.Allow = []string{limits}
	b.conclude()
	assert.Equal(t, "without a fault: never free", r.NotAllowed())
	b.options.Allow = []string{"none: never free", limits}
	b.conclude()
	assert.Empty(t, r.NotAllowed())

	b.options.Allow = nil
	b.conclude()
	r.Broken = r.of("restart")
	assert.Equal(t, "only limits of the algorithm, which -allow limits allows: restart: two holders", r.NotAllowed())
	assert.Equal(t, "Verdict: nothing that broke is <a client>'s own.", r.conclusions()[0])
	r.Broken[0].Limit = false
	assert.Equal(t, "Verdict: <a client> breaks promises that the Redis document's lock keeps: restart: two holders.", r.conclusions()[0])
	r.Broken = nil
	for _, n := range []int{3, 1, 2} {
		r.found(Case{}, Play{Schedule: slices.Repeat(paused.Schedule, n)}, StaleWrite)
	}
	assert.Len(t, r.Broken[0].Shown.Schedule, 1, "the shortest")
	r.Broken = nil
	assert.Equal(t, "Verdict: no promise broke.", r.conclusions()[0])
	r.Tallies = nil
	assert.Equal(t, "Verdict: none, because nothing was played.", r.conclusions()[0])
}

// A slow machine may make a waiter wait in vain, or a lease end at once. That is no proof.
func TestDoubtfulPlays(t *testing.T) {
	p := Play{Findings: []Finding{{Kind: NoProgress}, {Kind: LossUntold}, {Kind: OverOnArrival}}}
	assert.True(t, p.doubtful())
	p.Findings = append(p.Findings, Finding{Kind: TwoHolders})
	assert.False(t, p.doubtful(), "there is a proof")
	assert.False(t, Play{}.doubtful())
}
