package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// What programs other than the library may do to a server's data.
func TestDataFromBehind(t *testing.T) {
	d, now := memory.NewData(), time.Unix(1000, 0)
	acquire := wire.Request{Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second, Fence: wire.Fence{On: true, Floor: 1, TTL: time.Hour, Ahead: time.Minute}}
	require.Equal(t, wire.Granted, d.Run(acquire, now).Outcome)
	d.Keys.Put("forever", "x", time.Time{})
	d.Keys.Put("until", "x", now.Add(time.Minute))
	assert.Equal(t, []string{"forever", "k", "until"}, d.Keys.List(now))
	assert.Equal(t, []string{"k"}, d.Counters.List(now))

	later := now.Add(2 * time.Second)
	assert.Equal(t, []string{"forever", "until"}, d.Keys.List(later), "the lock has expired")
	assert.False(t, d.Keys.Delete("k", later), "it was gone")
	assert.True(t, d.Keys.Delete("until", later))
	assert.False(t, d.Keys.Delete("until", later))
	_, expires, ok := d.Keys.Get("forever", later.Add(time.Hour))
	assert.True(t, ok)
	assert.True(t, expires.IsZero())

	first, _, _ := d.Counters.Get("k", later)
	assert.NotZero(t, first)
	assert.True(t, d.Counters.Delete("k", later))
	assert.False(t, d.Counters.Delete("k", later))
	again := d.Run(acquire, later)
	assert.Greater(t, again.Token, first, "it begins by the clock")
	assert.Empty(t, d.Counters.List(later.Add(2*time.Hour)))

	d.Flush()
	assert.Empty(t, d.Keys.List(later))
	assert.Empty(t, d.Counters.List(later))
}

// A counter that is new or may be an older copy is low, unless it is above the clock. Its token is above
// the clock, and the counter only gets there by a raise.
func TestLowCounters(t *testing.T) {
	const clock = 1_000_000_000
	now := time.UnixMicro(clock)
	for name, c := range map[string]struct {
		counter, estimate, start, floor fencing.Token
		token, counted                  fencing.Token
		low                             bool
	}{
		"new":                                        {estimate: clock, token: clock + 1, counted: clock + 1, floor: 1},
		"new, and the estimate lags":                 {estimate: clock - 10, token: clock + 1, counted: clock - 9, low: true, floor: 1},
		"new, and the estimate leads":                {estimate: clock + 10, token: clock + 11, counted: clock + 11, floor: 1},
		"new, without an estimate":                   {token: clock + 1, counted: 1, low: true, floor: 1},
		"new, from the request's token":              {estimate: clock, start: clock + 50, token: clock + 50, counted: clock + 50, floor: 1},
		"new, from a token that is behind":           {estimate: clock, start: clock - 50, token: clock + 1, counted: clock - 50, low: true, floor: 1},
		"above the floor":                            {counter: 100, token: 101, counted: 101, floor: 100},
		"at the floor":                               {counter: 99, token: clock + 1, counted: 100, low: true, floor: 100},
		"at the floor, with a start":                 {counter: 99, start: clock + 50, token: clock + 50, counted: 100, low: true, floor: 100},
		"at the floor, with a start that is too far": {counter: 99, start: clock + 1e9, token: clock + 1, counted: 100, low: true, floor: 100},
		"below the floor, but above the clock":       {counter: clock + 9, token: clock + 10, counted: clock + 10, floor: 2 * clock},
	} {
		t.Run(name, func(t *testing.T) {
			d := memory.NewData()
			d.Estimate = func(string, time.Time) time.Time { return time.UnixMicro(int64(c.estimate)) }
			if c.counter > 0 {
				d.Counters.Put("k", c.counter, time.Time{})
			}
			vote := d.Run(wire.Request{
				Op: wire.Acquire, Keys: []string{"k"}, Value: "v", TTL: time.Second,
				Fence: wire.Fence{On: true, Token: c.start, Floor: c.floor, TTL: time.Hour, Ahead: time.Minute},
			}, now)
			require.Equal(t, wire.Granted, vote.Outcome)
			assert.Equal(t, c.token, vote.Token)
			assert.Equal(t, c.low, vote.Low)
			counter, _, _ := d.Counters.Get("k", now)
			assert.Equal(t, c.counted, counter)
		})
	}
}

// The set in the mark changes under the same epoch, and a restart keeps it.
func TestSetInTheMark(t *testing.T) {
	start := time.UnixMicro(1_000_000_000)
	one := wire.Set{Name: "main", Version: 1, N: 5, Q: 3}
	two, other := one, one
	two.Version, other.Name = 2, "else"
	id := wire.Identity{RunID: "run", ReplID: "repl", Role: wire.RoleMaster}
	var mark memory.Mark
	probe := func(set wire.Set, now time.Time) (wire.Identity, error) {
		found := id
		err := mark.Probe(&found, wire.Known{Set: set}, now)
		return found, err
	}
	found, err := probe(one, start)
	require.NoError(t, err)
	assert.Equal(t, wire.MarkOf("repl", "1000000000", one.String()), found.Mark)
	found, err = probe(two, start.Add(time.Second))
	require.NoError(t, err)
	assert.Equal(t, wire.MarkOf("repl", "1000000000", two.String()), found.Mark)
	assert.Equal(t, time.Second, found.Served)
	for _, set := range []wire.Set{one, other} {
		_, err = probe(set, start)
		assert.Equal(t, &wire.SetMismatchError{Mine: set, Theirs: two.String()}, err)
	}
	id.ReplID = "another"
	assert.Empty(t, mark.Of(id))
	_, err = probe(one, start.Add(time.Minute))
	require.ErrorIs(t, err, wire.ErrSetMismatch, "the set is compared before the run")
	found, err = probe(wire.Set{}, start.Add(time.Minute))
	require.NoError(t, err)
	assert.Equal(t, wire.MarkOf("another", "1060000000", two.String()), found.Mark)
	assert.Zero(t, found.Served)
	found, err = probe(two, start)
	require.NoError(t, err)
	assert.Equal(t, "1000000000", found.Epoch(), "the clock was set back behind it")
}

// An acquisition deletes the values that it names, and no others, before it sets its own.
func TestAnAcquisitionDeletesWhatItNames(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		held     []string
		outcome  wire.Outcome
		replaced bool
		keys     uint8
	}{
		"all":               {[]string{"v", "w"}, wire.Granted, true, 2},
		"one, and a free":   {[]string{"v", ""}, wire.Granted, false, 2},
		"one, and another":  {[]string{"v", "x"}, wire.Refused, false, 0},
		"none":              {[]string{"x", "y"}, wire.Refused, false, 0},
		"none of free ones": {[]string{"", ""}, wire.Granted, false, 2},
	} {
		d := memory.NewData()
		for i, key := range []string{"a", "b"} {
			if c.held[i] != "" {
				d.Keys.Put(key, c.held[i], time.Time{})
			}
		}
		vote := d.Run(wire.Request{Op: wire.Acquire, Keys: []string{"a", "b"}, Value: "mine", TTL: time.Second, Delete: []string{"w", "v"}}, now)
		assert.Equal(t, c.outcome, vote.Outcome, name)
		assert.Equal(t, c.replaced, vote.Replaced, name)
		assert.Equal(t, c.keys, vote.Keys, name)
		for i, key := range []string{"a", "b"} {
			want := "mine"
			if c.held[i] == "x" || c.held[i] == "y" {
				want = c.held[i]
			} else if c.outcome == wire.Refused {
				want = ""
			}
			held, _, _ := d.Keys.Get(key, now)
			assert.Equal(t, want, held, "%s: %s", name, key)
		}
	}
}
