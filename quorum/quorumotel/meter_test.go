package quorumotel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumotel"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestRoundsAndVotes(t *testing.T) {
	play(t, func(t *testing.T, o *observed, c *cluster) {
		ctx := context.Background()
		lease, err := c.TryAcquire(ctx, "k")
		require.NoError(t, err)
		synctest.Wait()
		c.taken(t, ctx, "k")
		time.Sleep(time.Second)
		require.NoError(t, lease.Extend(ctx))
		time.Sleep(time.Second)
		c.servers[1].Hang()
		c.servers[2].Hang()
		_, err = c.TryAcquire(ctx, "other")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		c.servers[1].Resume()
		c.servers[2].Resume()
		require.NoError(t, lease.Release(ctx))
		require.NoError(t, c.Settle(ctx))

		assert.Equal(t, series{
			"redlock.operation=acquire,redlock.outcome=won":                         {sum: 1},
			"redlock.operation=acquire,redlock.outcome=taken":                       {sum: 1},
			"error.type=no_quorum,redlock.operation=acquire,redlock.outcome=failed": {sum: 1},
			"redlock.operation=extend,redlock.outcome=won":                          {sum: 1},
		}, o.series("redlock.rounds"))

		durations := o.series("redlock.round.duration")
		assert.Len(t, durations, 4)
		// The first one identifies the servers first.
		assert.InDelta(t, .004, durations["redlock.operation=acquire,redlock.outcome=won"].sum, 1e-9)
		assert.InDelta(t, .002, durations["redlock.operation=acquire,redlock.outcome=taken"].sum, 1e-9)
		assert.InDelta(t, .100, durations["error.type=no_quorum,redlock.operation=acquire,redlock.outcome=failed"].sum, 1e-9)
		for name, p := range durations {
			assert.EqualValues(t, 1, p.count, name)
		}

		votes, latencies := o.series("redlock.instance.votes"), o.series("redlock.instance.vote.duration")
		total := 0.0
		for _, p := range votes {
			total += p.sum
		}
		assert.EqualValues(t, 4*3, total, "each instance has a part in each round")
		for _, name := range []string{"B", "C"} {
			timeout := "error.type=timeout,redlock.instance=" + name + ",redlock.operation=acquire,redlock.outcome=failed"
			// The round was lost when the first instance failed; the other was pending then.
			pending := "redlock.instance=" + name + ",redlock.operation=acquire,redlock.outcome=pending"
			assert.GreaterOrEqual(t, votes[timeout].sum+votes[pending].sum, 1.0, name)
			assert.NotContains(t, latencies, pending, "there is no latency yet")
			if votes[timeout].sum > 0 {
				assert.InDelta(t, .1, latencies[timeout].sum, 1e-9)
			}
		}
		granted := latencies["redlock.instance=A,redlock.operation=acquire,redlock.outcome=granted"]
		assert.InDelta(t, .002, granted.sum/float64(granted.count), 1e-9)
	})
}

func TestLeases(t *testing.T) {
	released := func(o *observed) series { return o.series("redlock.leases.released") }
	lost := func(o *observed) series { return o.series("redlock.leases.lost") }
	hold := func(o *observed) series { return o.series("redlock.lease.hold.duration") }
	cases := map[string]func(t *testing.T, o *observed, c *cluster){
		"released": func(t *testing.T, o *observed, c *cluster) {
			lease, err := c.TryAcquire(t.Context(), "k")
			require.NoError(t, err)
			time.Sleep(3 * time.Second)
			require.NoError(t, lease.Release(t.Context()))
			assert.Equal(t, series{"": {sum: 1}}, released(o))
			assert.Empty(t, lost(o))
			assert.EqualValues(t, 1, hold(o)["redlock.outcome=released"].count)
			assert.InDelta(t, 3, hold(o)["redlock.outcome=released"].sum, .01)
		},
		"lost, and released after that": func(t *testing.T, o *observed, c *cluster) {
			lease, err := c.TryAcquire(t.Context(), "k")
			require.NoError(t, err)
			<-lease.Done()
			synctest.Wait()
			assert.Equal(t, series{"error.type=expired": {sum: 1}}, lost(o))
			time.Sleep(time.Second)
			require.ErrorIs(t, lease.Release(t.Context()), quorum.ErrNotHeld)
			assert.Equal(t, series{"error.type=not_held": {sum: 1}}, released(o))
			require.Len(t, hold(o), 1, "one lease is held once")
			assert.EqualValues(t, 1, hold(o)["redlock.outcome=lost"].count)
			assert.InDelta(t, 9.9, hold(o)["redlock.outcome=lost"].sum, .05)
		},
		"kept alive, and closed": func(t *testing.T, o *observed, c *cluster) {
			lease, err := c.TryAcquire(t.Context(), "k")
			require.NoError(t, err)
			lease.KeepAlive()
			time.Sleep(time.Minute)
			require.NoError(t, c.Close(t.Context()))
			assert.Equal(t, series{"error.type=closed": {sum: 1}}, lost(o))
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			play(t, test)
		})
	}
}

func TestLeaseOfAnotherProcess(t *testing.T) {
	o := observe(t)
	e := quorum.LeaseEvent{Key: "k", Token: 7, Validity: 5 * time.Second, Held: time.Second}
	o.hooks.Released(t.Context(), e)
	assert.EqualValues(t, 1, o.series("redlock.lease.hold.duration")["redlock.outcome=released"].count, "resumed from a handle, and valid")
	e.Err = quorum.ErrHandedOff
	o.hooks.Released(t.Context(), e)
	assert.EqualValues(t, 2, o.series("redlock.leases.released")[""].sum, "and no failure")
}

func TestInstanceEvents(t *testing.T) {
	o := observe(t)
	o.hooks.Quarantined(quorum.QuarantineEvent{Instance: "A", Err: &quorum.QuarantineError{Reason: quorum.Restarted}})
	o.hooks.Quarantined(quorum.QuarantineEvent{Instance: "A", Err: &quorum.QuarantineError{Reason: quorum.ClockJumped}})
	o.hooks.Quarantined(quorum.QuarantineEvent{Instance: "B", Err: &quorum.QuarantineError{Reason: quorum.ClockJumped}})
	o.hooks.Quarantined(quorum.QuarantineEvent{Instance: "B"})
	o.hooks.ClockJumped(quorum.ClockEvent{Instance: "A", Jump: drift.Jump{By: 1}})
	o.hooks.ClockJumped(quorum.ClockEvent{Instance: "A", Jump: drift.Jump{By: -1}})
	o.hooks.ClockJumped(quorum.ClockEvent{Instance: "A", Jump: drift.Jump{By: -2}})
	o.hooks.Unprotected(quorum.UnprotectedEvent{Instance: "A", Hidden: []string{"INFO"}})
	o.hooks.CannotNotify(quorum.CannotNotifyEvent{Instance: "B", Err: quorum.ErrTaken})
	o.hooks.CannotNotify(quorum.CannotNotifyEvent{Instance: "B", Err: quorum.ErrTaken})
	assert.Equal(t, series{"redlock.instance=A": {sum: 1}}, o.series("redlock.instance.unprotected"))
	assert.Equal(t, series{"redlock.instance=B": {sum: 2}}, o.series("redlock.instance.cannot_notify"))
	assert.Equal(t, series{
		"redlock.instance=A,redlock.reason=restarted":    {sum: 1},
		"redlock.instance=A,redlock.reason=clock_jumped": {sum: 1},
		"redlock.instance=B,redlock.reason=clock_jumped": {sum: 1},
		"redlock.instance=B,redlock.reason=_OTHER":       {sum: 1},
	}, o.series("redlock.instance.quarantines"))
	assert.Equal(t, series{
		"redlock.direction=forward,redlock.instance=A": {sum: 1},
		"redlock.direction=back,redlock.instance=A":    {sum: 2},
	}, o.series("redlock.instance.clock.jumps"))
}

// Goroutines that wait are counted while they wait, and each wait when it is over: for how long,
// with how many tries, and for a holder in which process.
func TestWaits(t *testing.T) {
	play(t, func(t *testing.T, o *observed, c *cluster) {
		ctx := context.Background()
		waiting := func() float64 { return o.series("redlock.waiters")[""].sum }
		lease, err := c.Acquire(ctx, "k")
		require.NoError(t, err)
		assert.Zero(t, waiting())

		bounded, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.Acquire(bounded, "k")
				ended <- err
			}()
		}
		synctest.Wait()
		assert.EqualValues(t, 2, waiting())
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		assert.Zero(t, waiting())
		go func() {
			next, err := c.Acquire(ctx, "k")
			if err == nil {
				err = next.Release(ctx)
			}
			ended <- err
		}()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		require.NoError(t, lease.Release(ctx))
		require.NoError(t, <-ended)
		assert.Zero(t, waiting())

		free := "redlock.holder=none,redlock.outcome=acquired"
		here := "redlock.holder=here,redlock.outcome=acquired"
		late := "error.type=deadline,redlock.holder=here,redlock.outcome=gave_up"
		assert.Equal(t, series{free: {sum: 1}, here: {sum: 1}, late: {sum: 2}}, o.series("redlock.waits"))
		durations := o.series("redlock.wait.duration")
		assert.InDelta(t, 2, durations[late].sum, 1e-9)
		assert.InDelta(t, 3.3, durations[here].sum, .31) // and up to a pause, because the servers don't notify
		assert.Equal(t, point{count: 1, sum: 1}, o.series("redlock.wait.tries")[free])

		var spans []string
		for _, s := range o.spans.Ended() {
			if s.Name() == "redlock wait" {
				spans = append(spans, fmt.Sprint(s.EndTime().Sub(s.StartTime()).Truncate(time.Second), " ", s.Status().Description))
			}
		}
		assert.Equal(t, []string{"1s deadline", "1s deadline", "3s "}, spans, "a free lock needs none")
	})
}

func TestWhyWaitsAreGivenUp(t *testing.T) {
	given := func(verdict, cause error) error {
		return &quorum.WaitError{Verdict: verdict, Cause: cause, Last: &quorum.RoundError{Verdict: quorum.ErrTaken}}
	}
	o := observe(t)
	want := series{}
	for name, err := range map[string]error{
		"exhausted":    given(quorum.ErrExhausted, nil),
		"deadline":     given(quorum.ErrInterrupted, context.DeadlineExceeded),
		"cancelled":    given(quorum.ErrInterrupted, fmt.Errorf("%w: %w", context.Canceled, errors.New("the user left"))),
		"closed":       given(quorum.ErrClosed, nil),
		"set_mismatch": &quorum.RoundError{Verdict: quorum.ErrSetMismatch},
		"_OTHER":       errors.New("a hook panicked"),
	} {
		o.hooks.WaitEnded(t.Context(), quorum.WaitEnd{Key: "k", Here: true, Elsewhere: true, Err: err})
		want["error.type="+name+",redlock.holder=both,redlock.outcome=gave_up"] = point{sum: 1}
	}
	assert.Equal(t, want, o.series("redlock.waits"))
}

// tellAll calls every hook that measures.
func tellAll(ctx context.Context, h quorum.Hooks) {
	h.RoundDecided(ctx, quorum.RoundEnd{
		Op: wire.Acquire, Key: "secret-key", Took: time.Second,
		Ballots: []quorum.Ballot{{Instance: "A", Latency: time.Second, Vote: wire.Vote{Outcome: wire.Granted}}},
	})
	h.WaitStarted(ctx, quorum.WaitStart{Key: "secret-key", Waiters: 1})
	h.WaitEnded(ctx, quorum.WaitEnd{Key: "secret-key", Waited: time.Second, Tries: 1})
	h.Released(ctx, quorum.LeaseEvent{Key: "secret-key", Token: 1, Validity: 1})
	h.Lost(quorum.LeaseEvent{Key: "secret-key", Token: 3, Err: quorum.ErrExpired})
	h.Quarantined(quorum.QuarantineEvent{Instance: "A"})
	h.ClockJumped(quorum.ClockEvent{Instance: "A"})
	h.Unprotected(quorum.UnprotectedEvent{Instance: "A"})
	h.CannotNotify(quorum.CannotNotifyEvent{Instance: "A"})
}

// The names, kinds and units that the package documents.
func TestInstruments(t *testing.T) {
	o := observe(t)
	tellAll(t.Context(), o.hooks)
	got := map[string]string{}
	for name, m := range o.metrics() {
		kind := ""
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			kind = "up-down"
			if data.IsMonotonic {
				kind = "counter"
			}
		case metricdata.Histogram[float64], metricdata.Histogram[int64]:
			kind = "histogram"
		}
		got[name] = kind + " " + m.Unit
		assert.NotEmpty(t, m.Description, name)
	}
	assert.Equal(t, map[string]string{
		"redlock.instance.unprotected":   "counter {event}",
		"redlock.instance.cannot_notify": "counter {event}",
		"redlock.rounds":                 "counter {round}",
		"redlock.waiters":                "up-down {goroutine}",
		"redlock.waits":                  "counter {wait}",
		"redlock.wait.duration":          "histogram s",
		"redlock.wait.tries":             "histogram {try}",
		"redlock.round.duration":         "histogram s",
		"redlock.instance.votes":         "counter {vote}",
		"redlock.instance.vote.duration": "histogram s",
		"redlock.instance.quarantines":   "counter {quarantine}",
		"redlock.instance.clock.jumps":   "counter {jump}",
		"redlock.leases.released":        "counter {lease}",
		"redlock.leases.lost":            "counter {lease}",
		"redlock.lease.hold.duration":    "histogram s",
	}, got)
}

// All time series have the attributes, and none the key: each key would have its own time series.
func TestAttributesAreOnEverything(t *testing.T) {
	attrs := []attribute.KeyValue{attribute.String("cluster", "east")}
	o := observe(t, func(cfg *quorumotel.Config) { cfg.Attributes = attrs })
	attrs[0] = attribute.String("cluster", "changed later")
	tellAll(t.Context(), o.hooks)
	for name := range o.metrics() {
		for set := range o.series(name) {
			assert.Contains(t, set, "cluster=east", name)
			assert.NotContains(t, set, "secret-key", name)
		}
	}
	require.Len(t, o.spans.Ended(), 1)
	assert.Contains(t, o.spans.Ended()[0].Attributes(), attribute.String("cluster", "east"))
}

func TestErrorTypes(t *testing.T) {
	inRound := func(verdict error) error {
		return &quorum.RoundError{Op: wire.Acquire, Verdict: verdict, Votes: []quorum.Ballot{
			// Not the outcome of the round.
			{Instance: "A", Vote: wire.Vote{Err: fmt.Errorf("%w, %w", quorum.ErrTaken, quorum.ErrClosed)}},
		}}
	}
	rounds := map[string]error{
		"no_quorum":    inRound(quorum.ErrNoQuorum),
		"too_slow":     inRound(fmt.Errorf("%w: %w", quorum.ErrNotExtended, quorum.ErrTooSlow)),
		"token_race":   inRound(quorum.ErrUnsettled),
		"interrupted":  inRound(quorum.ErrInterrupted),
		"closed":       inRound(quorum.ErrClosed),
		"released":     inRound(quorum.ErrReleased),
		"not_held":     inRound(quorum.ErrNotHeld),
		"unreachable":  inRound(quorum.ErrUnreachable),
		"not_extended": inRound(quorum.ErrNotExtended),
		"expired":      quorum.ErrExpired,
		"lost":         quorum.ErrLost,
		"_OTHER":       errors.New("something new"),
	}
	o := observe(t)
	want := series{}
	for name, err := range rounds {
		o.hooks.RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Extend, Err: err})
		want["error.type="+name+",redlock.operation=extend,redlock.outcome=failed"] = point{sum: 1}
	}
	o.hooks.RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Extend, Err: inRound(quorum.ErrTaken)})
	want["redlock.operation=extend,redlock.outcome=taken"] = point{sum: 1}
	assert.Equal(t, want, o.series("redlock.rounds"))

	votes := map[string]error{
		"timeout":        quorum.ErrTimeout,
		"overloaded":     quorum.ErrOverloaded,
		"quarantined":    &quorum.QuarantineError{Reason: quorum.Restarted},
		"duplicate":      fmt.Errorf("wrapped: %w", quorum.ErrDuplicate),
		"set_mismatch":   &wire.SetMismatchError{},
		"not_replicated": fmt.Errorf("wrapped: %w", quorum.ErrNotReplicated),
		"not_master":     quorum.ErrNotMaster,
		"eviction":       quorum.ErrEviction,
		"hidden":         quorum.ErrHidden,
		"_OTHER":         errors.New("connection refused"),
	}
	o = observe(t)
	want = series{}
	for name, err := range votes {
		o.hooks.RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Acquire, Ballots: []quorum.Ballot{{Instance: "A", Vote: wire.Vote{Err: err}}}})
		want["error.type="+name+",redlock.instance=A,redlock.operation=acquire,redlock.outcome=failed"] = point{sum: 1}
	}
	for _, vote := range []wire.Vote{{Err: quorum.ErrPending}, {Outcome: wire.Refused}, {Outcome: wire.Granted}} {
		o.hooks.RoundDecided(t.Context(), quorum.RoundEnd{Op: wire.Acquire, Ballots: []quorum.Ballot{{Instance: "A", Vote: vote}}})
	}
	for _, outcome := range []string{"pending", "refused", "granted"} {
		want["redlock.instance=A,redlock.operation=acquire,redlock.outcome="+outcome] = point{sum: 1}
	}
	assert.Equal(t, want, o.series("redlock.instance.votes"))
	assert.Empty(t, o.series("redlock.instance.vote.duration"), "none had a latency")
}
