//go:build unix

package instance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// What the scripts do with a counter and the text beside it, in every state.

// granter is a way to get a token: by a list, by replacing the previous lease, or with reserved
// tokens.
type granter struct {
	t   *testing.T
	r   *Redis
	ask func(...any) any
	// replace is the value that a Replace replaces.
	replace  string
	reserved int
	last     fencing.Token // that was given
	// run is the server's, and called is its name in the test: tests say in which run a counter was
	// last used, and a server can't change its run at will.
	run, called string
}

// grants runs a test on both servers, for each way to get a token.
func grants(t *testing.T, test func(t *testing.T, g *granter, ask func(...any) any)) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for name, g := range map[string]granter{
			"acquire": {}, "replace": {replace: "old"}, "reserve": {reserved: 4}, "replace and reserve": {replace: "old", reserved: 127},
		} {
			t.Run(name, func(t *testing.T) {
				ask("FLUSHALL")
				g.t, g.r, g.ask, g.run = t, r, ask, string(runOf(t, r))
				test(t, &g, asker(t, r))
			})
		}
	})
}

// in puts the server into the run of that name.
func (g *granter) in(name string) {
	if g.ask("TYPE", SetKey("k")) != "string" {
		g.called = name
		return
	}
	known, ok := runIn(g.ask, "k").(string)
	if known == g.run && g.called != name {
		known = g.called
	}
	if g.called = name; known == name {
		known = g.run
	}
	if ok {
		subject{g.r, g.t, nil}.PutRun("k", wire.Run(known))
	}
}

// known is the name of the run recorded with the counter.
func (g *granter) known() any {
	if known := runIn(g.ask, "k"); known != g.run {
		return known
	}
	return g.called
}

// request prepares the key k for the request, and returns it, naming the run; an empty name means
// none.
func (g *granter) request(run string) wire.Request {
	g.ask("DEL", "k")
	req := acquire("k", value())
	req.Replace, req.Fence.Reserve = g.replace, g.reserved
	if run != "" {
		g.in(run)
		req.Run = wire.Run(g.run)
	}
	if g.replace != "" {
		g.ask("SET", "k", g.replace)
	}
	return req
}

// vote is the answer to the command.
func (g *granter) vote(req wire.Request) wire.Vote {
	g.t.Helper()
	v := g.r.Do(within(g.t), req)
	if v.Outcome == wire.Granted {
		require.Equal(g.t, g.replace != "", v.Replaced)
		require.Equal(g.t, req.Value, g.ask("GET", "k"))
		require.Equal(g.t, v.Token.String(), tokenIn(g.ask, "k"), "what was given is what is kept")
		require.Equal(g.t, max(0, min(int64(g.reserved), v.Clock.UnixMicro()-int64(v.Token)+int64(v.Reserved))), int64(v.Reserved), "as many as asked for, but none beyond the clock")
		g.last = v.Token
	} else {
		g.unchanged()
	}
	return v
}

// unchanged checks that the lock is as it was before the request.
func (g *granter) unchanged() {
	g.t.Helper()
	if g.replace == "" {
		require.Nil(g.t, g.ask("GET", "k"), "it isn't left set")
	} else {
		require.Equal(g.t, g.replace, g.ask("GET", "k"), "the old value stays")
	}
}

// step is how many tokens each grant takes.
func (g *granter) step() fencing.Token { return 1 + fencing.Token(g.reserved) }

// token gets one or more tokens in a run, and returns the first.
func (g *granter) token(run string) fencing.Token {
	g.t.Helper()
	v := granted(g.t, g.vote(g.request(run)))
	return v.Token - fencing.Token(v.Reserved)
}

// fromClock gets a token in a run, and checks that it is the clock's.
func (g *granter) fromClock(run string) {
	g.t.Helper()
	v := granted(g.t, g.vote(g.request(run)))
	require.Equal(g.t, v.Clock.UnixMicro()+1, int64(v.Token), "from the clock")
	require.Zero(g.t, v.Reserved, "none is reserved beyond the clock")
	require.Equal(g.t, run, g.known())
}

// TestCounterOfAnotherRun: it may be older than it was, so it continues from the clock, once.
func TestCounterOfAnotherRun(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		for _, before := range []string{"one", ""} {
			counted(ask, "k", old, set1.String(), before)
			g.fromClock("two")
			g.token("two")
			next := g.last + 1
			require.Equal(t, next, g.token("two"), "after a grant in this run")

			// The previous grant was in this period.
			g.fromClock("three")
		}
	})
}

// TestRunUnknownToTheClient: the request continues from the counter it finds, and keeps the
// recorded run.
func TestRunUnknownToTheClient(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		counted(ask, "k", old, set1.String(), "one")
		for i := range fencing.Token(3) {
			require.Equal(t, old+1+i*g.step(), g.token(""))
			require.Equal(t, "one", g.known())
			require.NotEqual(t, "900000/1", partOf(ask, "k", 2), "the period is this one")
			require.InDelta(t, 5_400_000, ask("PTTL", SetKey("k")), 10_000)
		}
		require.Equal(t, old+1+3*g.step(), g.token("one"), "nothing was taken for another run")
	})
}

// TestCounterOutlivesItsGrants by the whole CounterTTL, and is prolonged once in a quarter of it.
func TestCounterOutlivesItsGrants(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		keys := []string{CounterKey("k"), SetKey("k")}
		grant := func(ttl time.Duration) {
			req := g.request("run")
			req.Fence.TTL = ttl
			granted(t, g.vote(req))
		}
		const most = 6_000_000 // six quarters of 4 000 s
		grant(4_000 * time.Second)
		for _, key := range keys {
			require.InDelta(t, most, ask("PTTL", key), 10_000)
			ask("PEXPIRE", key, 4_500_000) // and so it may be within the period
		}
		before := ask("GET", SetKey("k"))
		grant(4_000 * time.Second)
		if ask("GET", SetKey("k")) == before { // the period may have ended just now
			for _, key := range keys {
				require.InDelta(t, 4_500_000, ask("PTTL", key), 10_000, "nothing but the counter was written")
			}
		}
		// In the next period.
		ask("SET", SetKey("k"), set1.String()+" 1000000/1 run", "PX", 4_400_000)
		grant(4_000 * time.Second)
		for _, key := range keys {
			require.InDelta(t, most, ask("PTTL", key), 10_000)
		}
		// Although it has the same number, as in quarters of another length.
		text := strings.Replace(ask("GET", SetKey("k")).(string), " 1000000/", " 999999/", 1)
		ask("SET", SetKey("k"), text, "PX", 4_400_000)
		grant(4_000 * time.Second)
		require.InDelta(t, most, ask("PTTL", SetKey("k")), 10_000)
		require.NotEqual(t, text, ask("GET", SetKey("k")))
		// A client with another CounterTTL.
		for _, ttl := range []time.Duration{400 * time.Second, 4_000 * time.Second, 4_001 * time.Second} {
			grant(ttl)
			for _, key := range keys {
				require.InDelta(t, 6*((ttl.Milliseconds()+3)/4), ask("PTTL", key), 10_000)
			}
		}
	})
}

// TestPeriodsEnd: at any time of its period a grant leaves both keys for as long as promised.
func TestPeriodsEnd(t *testing.T) {
	r, _ := real(t, Config{})
	ctx, texts := within(t), make(map[string]bool)
	for len(texts) <= 3 { // until ctx ends
		const quarter = 100
		var token *redis.Cmd
		var counter, set *redis.DurationCmd
		var text *redis.StringCmd
		_, err := r.Client().TxPipelined(ctx, func(tx redis.Pipeliner) error {
			tx.Del(ctx, "k")
			token = tx.Eval(ctx, acquireScript.source, []string{"k", CounterKey("k"), SetKey("k")}, 1, "", 1000, 1, quarter, "set", ahead.Microseconds(), 0, "v", "", 0)
			counter, set, text = tx.PTTL(ctx, CounterKey("k")), tx.PTTL(ctx, SetKey("k")), tx.Get(ctx, SetKey("k"))
			return nil
		})
		require.NoError(t, err)
		require.Positive(t, token.Val().([]any)[listHead])
		require.GreaterOrEqual(t, counter.Val(), 4*quarter*time.Millisecond)
		require.GreaterOrEqual(t, set.Val(), 4*quarter*time.Millisecond)
		texts[text.Val()] = true
	}
}

// TestQuarters: four are never less than the whole.
func TestQuarters(t *testing.T) {
	r, _ := real(t, Config{})
	for ms := int64(1); ms < 10; ms++ {
		req := acquire("k", value())
		req.Fence.TTL = time.Duration(ms) * time.Millisecond
		quarter := r.newCall(req).quarter
		require.GreaterOrEqual(t, 4*quarter, ms)
		require.Less(t, 4*quarter, ms+4)
		granted(t, r.Do(within(t), req))
		granted(t, r.Do(within(t), request(wire.Release, "k", req.Value)))
	}
}

// TestBadCounters meets unusable counters, after a grant of this period and after a grant of an
// earlier time.
func TestBadCounters(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		for _, text := range []string{"x", "", "-1", "-9007199254740993", "1.5", "1e3", " 1", "9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "99999999999999999999", "0x10"} {
			for _, this := range []bool{true, false} {
				counted(ask, "k", old, set1.String(), "run")
				if this {
					g.token("run")
				}
				ask("SET", CounterKey("k"), text)
				req := g.request("run")
				before := ask("GET", SetKey("k"))
				failed(t, g.vote(req), wire.ErrCounter)
				if text == "9223372036854775807" && ask("GET", CounterKey("k")) != text {
					continue // miniredis doesn't notice its own overflow
				}
				require.Equal(t, text, ask("GET", CounterKey("k")), "it is left as it was found")
				require.Equal(t, before, ask("GET", SetKey("k")))

				look := g.r.Do(within(t), request(wire.Look, "k", ""))
				if text == "9007199254740991" {
					require.Equal(t, fencing.MaxToken, look.Token)
					continue
				}
				failed(t, look, wire.ErrCounter)
				ask("DEL", "k")
				restore := request(wire.Restore, "k", value())
				restore.Fence.Token = 9
				failed(t, g.r.Do(within(t), restore), wire.ErrCounter)
				require.Nil(t, ask("GET", "k"))
				ask("SET", "k", "v")
				raise := request(wire.Raise, "k", "v")
				raise.Fence.Token = 9
				failed(t, g.r.Do(within(t), raise), wire.ErrCounter)
				require.Equal(t, text, ask("GET", CounterKey("k")))
			}
		}
	})
}

// TestBadTexts meets keys beside a counter that don't come from this library.
func TestBadTexts(t *testing.T) {
	grants(t, func(t *testing.T, g *granter, ask func(...any) any) {
		for _, text := range []string{"", "x", set1.String(), set1.String() + " 1 run", set1.String() + " 1/ run", set1.String() + " 1/1", "/1/1 run"} {
			counted(ask, "k", old, "", "")
			ask("SET", SetKey("k"), text)
			failed(t, g.vote(g.request("run")), wire.ErrCounter)
			require.Equal(t, text, ask("GET", SetKey("k")))
			require.Equal(t, old.String(), tokenIn(ask, "k"))
		}
		for _, key := range []string{CounterKey("k"), SetKey("k")} {
			counted(ask, "k", old, set1.String(), "run")
			ask("DEL", key)
			ask("HSET", key, "token", "5")
			failed(t, g.vote(g.request("run")), ErrWrongType)
			ask("DEL", "k")
			restore := request(wire.Restore, "k", value())
			restore.Fence.Token = 9
			failed(t, g.r.Do(within(t), restore), ErrWrongType)
			require.Nil(t, ask("GET", "k"))
			require.EqualValues(t, 1, ask("HLEN", key))
			ask("DEL", key)
		}
	})
}

// TestRightsThatEndWithinAGrant: an unfinished grant leaves nothing that a later grant would
// misread.
func TestRightsThatEndWithinAGrant(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	admin := asker(t, open(t, s.URL(), Config{}))
	const but = "~* +eval +evalsha +mget +time +incr +decr +del +get +info " // but SET
	for name, test := range map[string]struct {
		rights string // of another user
		have   string
		want   any // in the counter afterwards
	}{
		"may not set it":             {but + "(~k +set)", oldText, oldText},
		"may not set it, lost":       {but + "(~k +set)", "", nil},
		"may not write beside":       {but + "(~k ~{k}:redlock +set)", oldText, "clock"},
		"may not write beside, lost": {but + "(~k ~{k}:redlock +set)", "", "clock"},
		"may not look":               {"~* +@all -get", oldText, oldText},
		"may not have it":            {"~k ~{k}:redlock +@all", oldText, oldText},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(test.rights, "(") {
				instancetest.Needs(t, 7, 0, "rights have selectors")
			}
			admin("FLUSHALL")
			rule := []any{"ACL", "SETUSER", "half", "reset", "on", ">pw"}
			for _, part := range rights.FindAllString(test.rights, -1) {
				rule = append(rule, part)
			}
			admin(rule...)
			if test.have != "" {
				counted(admin, "k", test.have, set1.String(), "one")
			}
			g := &granter{t: t, r: open(t, "redis://half:pw@"+s.Addr(), Config{}), ask: admin, run: string(runOf(t, open(t, s.URL(), Config{})))}
			req := acquire("k", value())
			req.Run = wire.Run(g.run)
			failed(t, g.vote(req), ErrPermission)
			if test.want == "clock" {
				require.Greater(t, len(tokenIn(admin, "k").(string)), 10, "that it was raised does no harm")
			} else {
				require.Equal(t, test.want, tokenIn(admin, "k"))
			}
			if test.have != "" {
				require.Equal(t, "one", runIn(admin, "k"), "no client was told of the raise")
			}
		})
	}
}

// rights finds the parts of an ACL's rule; a selector is one part.
var rights = regexp.MustCompile(`\([^)]*\)|[^ ]+`)

// TestLiftsKeepTheTime: the keys keep their TTLs if these are long enough, and otherwise get a
// longer one.
func TestLiftsKeepTheTime(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, op := range []wire.Op{wire.Raise, wire.Restore} {
			for _, token := range []fencing.Token{1, 1000} {
				for left, want := range map[int]int{
					3_599_000:  5_400_000, // less than four quarters of the hour
					4_000_000:  4_000_000,
					77_000_000: 77_000_000, // a client with a longer CounterTTL
					-1:         5_400_000,  // somebody else changed it
				} {
					ask("FLUSHALL")
					ask("SET", "k", "v")
					counted(ask, "k", old, set1.String(), "one")
					for _, key := range []string{CounterKey("k"), SetKey("k")} {
						if ask("PERSIST", key); left > 0 {
							ask("PEXPIRE", key, left)
						}
					}
					req := request(op, "k", "v")
					req.Fence.Token = token
					granted(t, r.Do(within(t), req))
					for _, key := range []string{CounterKey("k"), SetKey("k")} {
						require.InDelta(t, want, ask("PTTL", key), 10_000, "%v to %v of %s with %d", op, token, key, left)
					}
				}
			}
		}
	})
}

// TestExtensionsOfOtherRunsTravelApart: a list has one run, so none is granted in another.
func TestExtensionsOfOtherRunsTravelApart(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		run := runOf(t, r)
		// Several times, because the first may be answered before the others are queued.
		for range 20 {
			var box ballotBox
			runs := make(map[string]wire.Run)
			box.start(r, request(wire.Look, "x", "look"), 10*time.Second) // goes alone
			for i := range 12 {
				req := request(wire.Extend, fmt.Sprint("k", i), value())
				ask("SET", req.Key, req.Value)
				req.Run = []wire.Run{run, "0123456789abcdef0123456789abcdef01234567"}[i%2]
				runs[req.Value] = req.Run
				box.start(r, req, 10*time.Second)
			}
			for holder, v := range box.await(t, 13) {
				// The error about another run closes the connection, so the outcome of the requests
				// behind it is unknown.
				if holder != "look" && runs[holder] != run {
					require.Equal(t, wire.Failed, v.Outcome)
				}
			}
		}
	})
}
