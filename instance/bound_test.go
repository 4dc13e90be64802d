//go:build unix

package instance

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// How far a counter may be ahead of the server's clock.

// tooFar checks for a failure because a counter would be too far ahead.
func tooFar(t testing.TB, v wire.Vote, token fencing.Token, permanent bool) *wire.CounterError {
	t.Helper()
	failed(t, v, wire.ErrCounter)
	var counter *wire.CounterError
	require.ErrorAs(t, v.Err, &counter)
	require.Equal(t, token, counter.Token)
	require.Equal(t, ahead, counter.Most)
	require.Equal(t, permanent, counter.Permanent(), "%v", v.Err)
	return counter
}

// pastTheLast checks for a failure because the clock is past the last token.
func pastTheLast(t testing.TB, v wire.Vote) {
	t.Helper()
	failed(t, v, wire.ErrCounter)
	var counter *wire.CounterError
	require.ErrorAs(t, v.Err, &counter)
	require.Greater(t, counter.Token, fencing.MaxToken)
	require.True(t, counter.Permanent())
	require.ErrorContains(t, v.Err, "the server's clock is in the year 22")
	require.ErrorContains(t, v.Err, "set its clock right")
}

// TestCounterAheadOfTheClock: a counter slightly ahead continues, also in a new run, and nothing is
// reserved. A counter further ahead than Ahead gives nothing, and stays unchanged.
func TestCounterAheadOfTheClock(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		at := func(d time.Duration) fencing.Token { return fencing.Token(time.Now().Add(d).UnixMicro()) }
		for _, known := range []string{"one", "two"} {
			for _, this := range []bool{true, false} { // whether the text is of this period
				have := func(token fencing.Token) {
					counted(ask, "k", old, set1.String(), known)
					if this {
						g.token(known)
					}
					ask("SET", CounterKey("k"), uint64(token), "KEEPTTL")
				}
				near := at(ahead - 5*time.Second)
				have(near)
				require.Equal(t, near+1, g.token("two"))
				require.Equal(t, near+1, g.last, "none is reserved")
				require.Equal(t, "two", g.known())
				require.Equal(t, near+2, g.token("two"))

				for token, permanent := range map[fencing.Token]bool{
					at(ahead + 5*time.Second): false, at(time.Hour): true, fencing.MaxToken - 1: true, fencing.MaxToken: true,
				} {
					have(token)
					req := g.request("two")
					before, left := ask("GET", SetKey("k")), ask("PTTL", CounterKey("k"))
					v := g.vote(req)
					require.True(t, v.Unsent, "nothing is left to delete")
					counter := tooFar(t, v, token+1, permanent)
					require.WithinDuration(t, time.Now(), counter.Clock, 10*time.Second)
					require.Equal(t, token.String(), ask("GET", CounterKey("k")), "it is left as it was found")
					require.InDelta(t, left, ask("PTTL", CounterKey("k")), 10_000)
					require.Equal(t, before, ask("GET", SetKey("k")))
				}
			}
		}
	})
}

// TestRepairCommand: the command in the error, which an operator enters, works.
func TestRepairCommand(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	r := open(t, s.URL(), Config{})
	ask := asker(t, r)
	host, port, _ := strings.Cut(s.Addr(), ":")
	for _, key := range []string{"orders:42", "with space", "ünïcode $HOME `x`", "quote'd", "line\nbreak", "\xff\x01"} {
		granted(t, r.Do(within(t), acquire(key, "v")))
		ask("DEL", key)
		ask("SET", CounterKey(key), uint64(fencing.MaxToken-1))
		err := tooFar(t, r.Do(within(t), acquire(key, "v")), fencing.MaxToken, true)
		require.ErrorContains(t, err, "days ahead of the server's clock")
		require.ErrorContains(t, err, "when nobody has held the lock for MaxTTL (30s), and no sooner")
		_, command, _ := strings.Cut(err.Error(), " with redis-cli")
		cmd := exec.Command("sh", "-c", "redis-cli -h "+host+" -p "+port+command)
		if line, prompt := strings.CutPrefix(command, ", at its prompt: "); prompt {
			cmd = exec.Command("redis-cli", "-h", host, "-p", port)
			cmd.Stdin = strings.NewReader(line + "\n")
		}
		output, failure := cmd.CombinedOutput()
		require.NoError(t, failure)
		require.Equal(t, "2", strings.TrimSpace(string(output)), "%q: %v", key, err)
		v := granted(t, r.Do(within(t), acquire(key, "v")))
		require.Equal(t, v.Clock.UnixMicro()+1, int64(v.Token))
	}
	long := strings.Repeat("x", 1000)
	ask("SET", CounterKey(long), uint64(fencing.MaxToken-1))
	err := tooFar(t, r.Do(within(t), acquire(long, "v")), fencing.MaxToken, true)
	require.Less(t, len(err.Error()), 600)
	require.ErrorContains(t, err, "{resource}:redlock:set")
}

// TestServerClocksFarAhead: a lost counter on a server whose clock is hours ahead starts there, and
// gives nothing more when the clock has been set back. With a clock past the last token no counter
// can start.
func TestServerClocksFarAhead(t *testing.T) {
	r, m := mini(t, Config{})
	g := &granter{t: t, r: r, ask: asker(t, r), run: string(runOf(t, r)), called: "one"}
	m.SetTime(time.Now().Add(5 * time.Hour))
	g.fromClock("one")
	m.SetTime(time.Now())
	tooFar(t, g.vote(g.request("one")), g.last+1, true)

	for _, late := range []time.Time{time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC), time.UnixMicro(int64(fencing.MaxToken))} {
		for _, have := range []any{nil, "0"} {
			m.SetTime(time.Now())
			g.ask("FLUSHALL")
			if have != nil {
				g.ask("SET", CounterKey("k"), have)
			}
			m.SetTime(late)
			v := g.vote(g.request("one"))
			require.True(t, v.Unsent, "%v", v.Err)
			pastTheLast(t, v)
			require.Equal(t, have, tokenIn(g.ask, "k"), "it is left as it was found")
		}
		counted(g.ask, "k", old, set1.String(), "one")
		require.EqualValues(t, old+1, g.token("one"), "an existing counter continues")
		g.in("two")
		before := tokenIn(g.ask, "k")
		pastTheLast(t, g.vote(g.request("two")))
		require.Equal(t, before, tokenIn(g.ask, "k"))
	}
	// The last tokens.
	m.SetTime(time.UnixMicro(int64(fencing.MaxToken) - 5))
	counted(g.ask, "k", uint64(fencing.MaxToken-1), set1.String(), "one")
	require.Equal(t, fencing.MaxToken, g.token("one"))
	var counter *wire.CounterError
	require.ErrorAs(t, g.vote(g.request("one")).Err, &counter)
	require.Equal(t, fencing.MaxToken+1, counter.Token)
}

// TestCommandsOfOtherBoundsTravelApart: a list has one bound.
func TestCommandsOfOtherBoundsTravelApart(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		token := fencing.Token(time.Now().Add(30 * time.Minute).UnixMicro())
		// Several times, because the first may be answered before the others are queued.
		for round := range 10 {
			key := func(i int) string { return fmt.Sprintf("k%d-%d", round, i) }
			for i := range 12 {
				counted(ask, key(i), uint64(token), set1.String(), "one")
			}
			var box ballotBox
			near := make(map[string]bool)
			box.start(r, request(wire.Look, "x", "look"), 10*time.Second) // goes alone
			for i := range 12 {
				req := acquire(key(i), value())
				if near[req.Value] = i%2 == 0; !near[req.Value] {
					req.Fence.Ahead = time.Hour
				}
				box.start(r, req, 10*time.Second)
			}
			for holder, v := range box.await(t, 13) {
				switch {
				case holder == "look":
				case near[holder]:
					tooFar(t, v, token+1, true)
				default:
					require.Equal(t, token+1, granted(t, v).Token)
				}
			}
		}
	})
}
