package timeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

// runs are all runs of these tests.
var runs = map[string]run{
	"pause":        pauseAfterTheCheck(simulation.Unguarded),
	"pause-fenced": pauseAfterTheCheck(simulation.GuardAdmits),
	"jump":         clockJumps(),
	"crash":        crashWithoutFsync(),
	"extensions":   extensions(),
	"failover":     failsOver(),
	"commands":     commands(),
	"alias":        secondName(),
	"trouble":      trouble(),
}

func TestBeliefAndTruthOfAPause(t *testing.T) {
	tl := timeline.Of(result(t, "pause").Log)
	assert.Equal(t, []string{"c1", "c2"}, tl.Processes)
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, tl.Servers)
	assert.Equal(t, 3, tl.Quorum())

	require.Len(t, tl.Beliefs, 2)
	first, second := tl.Beliefs[0], tl.Beliefs[1]
	assert.Equal(t, "c1", first.Process)
	assert.Equal(t, "ran out", first.End)
	assert.Greater(t, first.Until-first.From, 9*time.Second)
	assert.Equal(t, "c2", second.Process)
	assert.Equal(t, "released", second.End)
	assert.Greater(t, second.Token, first.Token)
	assert.Empty(t, tl.Overlaps(), "c1 believes nothing any more when it writes, it just doesn't look")

	require.Len(t, tl.Tenures, 10)
	for _, n := range tl.Tenures {
		if n.Process == "c1" {
			assert.Equal(t, "expired", n.End)
			assert.Equal(t, 10*time.Second, n.Until-n.From)
		} else {
			assert.Equal(t, "deleted", n.End)
		}
	}
	whole := tl.Truth()[0]
	for _, s := range tl.Truth() {
		if s.Process == "c1" && len(s.Servers) > len(whole.Servers) {
			whole = s
		}
	}
	assert.Equal(t, []string{"A", "B", "C", "D", "E"}, whole.Servers)
	assert.True(t, whole.Quorum)

	require.NotEmpty(t, tl.Spans)
	pause := tl.Spans[0]
	assert.Equal(t, "pause", pause.Kind)
	assert.Equal(t, 12*time.Second, pause.Until-pause.From)
	late := tl.Accesses[len(tl.Accesses)-1]
	assert.Equal(t, "c1", late.Process)
	assert.Equal(t, "write", late.Op)
	assert.Equal(t, pause.Until, late.Sent)
}

func TestTheGuardsRefusal(t *testing.T) {
	tl := timeline.Of(result(t, "pause-fenced").Log)
	refused := slices.Clone(tl.Accesses)
	for i := len(refused) - 1; i >= 0; i-- {
		if !refused[i].Refused {
			refused = slices.Delete(refused, i, i+1)
		}
	}
	require.Len(t, refused, 1)
	assert.Equal(t, "c1", refused[0].Process)
	assert.Equal(t, tl.Beliefs[0].Token, refused[0].Token)
	assert.Empty(t, tl.Violations)
}

func TestTwoBeliefsAfterAClockJump(t *testing.T) {
	for _, name := range []string{"jump", "crash", "failover"} {
		tl := timeline.Of(result(t, name).Log)
		require.Len(t, tl.Overlaps(), 1, name)
		o := tl.Overlaps()[0]
		assert.Equal(t, "c1", o.First)
		assert.Equal(t, "c2", o.Second)
		assert.InDelta(t, time.Second, o.Until-o.From, float64(50*ms), "c2 holds it for a second")
		for _, s := range tl.Truth() {
			if s.From >= at(120*ms) && s.Process == "c1" {
				assert.False(t, s.Quorum, "%s: %v", name, s)
				assert.NotContains(t, s.Servers, "C")
			}
		}
		lost := 0
		for _, m := range tl.Messages {
			if m.Lost == fault.Requests {
				lost++
				assert.Equal(t, time.Duration(-1), m.Arrived)
			}
		}
		assert.Positive(t, lost, "D and E are cut off")
	}
}

// A belief ends by the holder's own clocks: while they stand still it lasts.
func TestBeliefByClocksThatStandStill(t *testing.T) {
	tl := timeline.Of(result(t, "extensions").Log)
	first := tl.Beliefs[0]
	assert.Equal(t, "c1", first.Process)
	assert.Greater(t, first.Until, at(24*time.Second), "15 s of standstill don't count")
	require.Len(t, tl.Overlaps(), 1)

	// A belief that was valid in the checks must be valid here.
	for _, v := range tl.Violations {
		holds := 0
		for _, b := range tl.Beliefs {
			if b.From <= v.At && v.At < b.Until {
				holds++
			}
		}
		assert.Equal(t, 2, holds, "%v", v)
	}
}

func TestClocks(t *testing.T) {
	suffers := func(process string, f fault.Fault) *record.Event {
		return &record.Event{At: 2 * time.Second, Kind: record.Suffered, Process: process, Fault: &f}
	}
	for name, c := range map[string]struct {
		event *record.Event
		until time.Duration
	}{
		"right":       {nil, 10 * time.Second},
		"forward":     {suffers("c1", fault.Fault{Kind: fault.Step, By: 3 * time.Second}), 7 * time.Second},
		"back":        {suffers("c1", fault.Fault{Kind: fault.Step, By: -3 * time.Second}), 10 * time.Second}, // the monotonic clock knows better
		"slow":        {suffers("c1", fault.Fault{Kind: fault.Rate, PPM: -500_000}), 18 * time.Second},
		"fast":        {suffers("c1", fault.Fault{Kind: fault.Rate, PPM: 500_000}), 2*time.Second + 5333333333},
		"asleep":      {suffers("c1", fault.Fault{Kind: fault.Suspend, For: 4 * time.Second}), 10 * time.Second}, // the wall clock goes
		"frozen":      {suffers("c1", fault.Fault{Kind: fault.Suspend, For: 4 * time.Second, Frozen: true}), 14 * time.Second},
		"another's":   {suffers("c2", fault.Fault{Kind: fault.Step, By: 3 * time.Second}), 10 * time.Second},
		"looked":      {&record.Event{At: 2 * time.Second, Kind: record.Looked, Process: "c1", Key: key, Token: 1, Validity: 5 * time.Second}, 7 * time.Second},
		"far too far": {suffers("c1", fault.Fault{Kind: fault.Step, By: 9e18}), 2 * time.Second},
	} {
		log := []record.Event{{At: time.Second, Kind: record.Acquired, Process: "c1", Key: key, Token: 1, Validity: 9 * time.Second}}
		if c.event != nil {
			log = append(log, *c.event)
		}
		tl := timeline.Of(record.Log{append(log, record.Event{At: time.Minute, Kind: record.Ended, Process: "c1"})})
		require.Len(t, tl.Beliefs, 1, name)
		assert.InDelta(t, c.until, tl.Beliefs[0].Until, 10, name)
		assert.Equal(t, "ran out", tl.Beliefs[0].End, name)
	}
}

// An alias of a server may have any name.
func TestSecondNames(t *testing.T) {
	for _, name := range []string{"a2", "A-copy", "Another", "B2"} {
		message := func(at time.Duration, kind record.EventKind, place string) record.Event {
			return record.Event{At: at, Kind: kind, Process: "c1", Place: place, N: 1, Op: "acquire"}
		}
		granted := func(at time.Duration, database int) record.Event {
			e := message(at, record.Voted, "A")
			e.Words, e.Keys = "granted", []record.KeyState{{Key: key, Database: database, Until: 9 * time.Second}}
			return e
		}
		tl := timeline.Of(record.Log{{
			{Kind: record.Asked, Process: "c1", Key: key}, message(ms, record.Sent, "A"), message(ms, record.Sent, name),
			granted(2*ms, 0), granted(3*ms, 1), message(3*ms, record.ReplyLost, name), message(4*ms, record.GaveUp, name),
		}})
		assert.Equal(t, []string{"c1"}, tl.Processes)
		assert.Equal(t, []string{"A"}, tl.Servers)
		require.Len(t, tl.Messages, 2)
		second := tl.Messages[1]
		assert.Equal(t, "A", second.Place)
		assert.Equal(t, 3*ms, second.Arrived)
		assert.Equal(t, 4*ms, second.GaveUp)
		assert.Equal(t, fault.Replies, second.Lost)
		assert.Len(t, tl.Tenures, 2, "a key in each of its databases")
	}
}

// A second copy of a request is a repeated message, not another operation.
func TestRepeatedRequest(t *testing.T) {
	use := record.Event{At: 2 * ms, Kind: record.Write, Process: "c1", Place: fault.Resource, N: 1, Version: 1}
	again := use
	again.At, again.Words = 5*ms, "repeated"
	tl := timeline.Of(record.Log{{
		{At: ms, Kind: record.Sent, Process: "c1", Place: fault.Resource, N: 1, Op: "write"}, use,
		{At: 5 * ms, Kind: record.RequestDuplicated, Process: "c1", Place: fault.Resource, N: 1}, again,
	}})
	require.Len(t, tl.Messages, 1)
	assert.Equal(t, 2*ms, tl.Messages[0].Arrived)
	require.Len(t, tl.Accesses, 2)
	assert.True(t, tl.Accesses[1].Repeated)
}
