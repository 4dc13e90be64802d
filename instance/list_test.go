//go:build unix

package instance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// inOneBatch sends requests in one batch, so that those that can share a list do.
func inOneBatch(t testing.TB, r *Redis, reqs ...wire.Request) []wire.Vote {
	t.Helper()
	require.LessOrEqual(t, len(reqs), maxBatch)
	r.Do(within(t), wire.Request{Op: wire.Tick}) // so that there is a connection
	to := make([]votes, len(reqs))
	var worker chan struct{}
	r.pipe.mu.Lock()
	for i, req := range reqs {
		to[i] = make(votes, 1)
		c := r.newCall(req)
		c.to, c.deadline, c.state, c.index = to[i], time.Now().Add(time.Minute), queued, len(r.pipe.pending)
		r.pipe.pending = append(r.pipe.pending, c)
		r.pipe.queue.add(c)
	}
	worker = r.pipe.startLocked()
	r.pipe.mu.Unlock()
	if worker != nil {
		worker <- struct{}{}
	}
	got := make([]wire.Vote, len(reqs))
	for i := range to {
		got[i] = <-to[i]
	}
	return got
}

// A request that fails after it has raised a counter doesn't hurt the next one for that lock, nor
// any other.
func TestListAfterAFailureHalfway(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		granted(t, r.Do(within(t), also(acquire("a", "u"), "b")))
		ask("DEL", "a", "b")
		ask("SET", CounterKey("b"), "1.50000000000e15")
		before := tokenIn(ask, "a")
		got := inOneBatch(t, r, also(acquire("x", "0"), "y"), also(acquire("a", "1"), "b"), also(acquire("a", "2"), "c"), also(acquire("v", "3"), "w"))
		granted(t, got[0])
		require.True(t, failed(t, got[1], wire.ErrCounter).Unsent)
		granted(t, got[2])
		granted(t, got[3])
		require.Greater(t, got[2].Token.String(), before)
		require.Nil(t, ask("GET", "b"))
	})
}

// A counter that is no token by tokenin's rules is never used, whatever Lua takes for a number.
func TestCounterThatIsANumberToLua(t *testing.T) {
	both(t, func(t *testing.T, r *Redis, ask func(...any) any) {
		for _, counter := range []string{
			"nan(12345678901)", "  nan           ", "             nan", "-nan(1234567890)", "        infinity", "1.5e15          ", " 150000000000000", "+150000000000000",
			"0150000000000000", "0x5af3107a4000.8", "0x05543df729c000", "1.50000000000e15", "9999999999999999", "-150000000000000", "1500000000000.e3", "150000000000000\n", "150000000000000\x00",
		} {
			require.Len(t, counter, 16)
			if strings.HasSuffix(t.Name(), "miniredis") && strings.TrimLeft(counter, "+0123456789") == "" {
				continue // its INCR takes leading signs and zeros
			}
			for _, text := range []string{"usual", "of before", "none"} {
				t.Run(fmt.Sprintf("%q %s", counter, text), func(t *testing.T) {
					ask("FLUSHALL")
					switch text {
					case "usual":
						granted(t, r.Do(within(t), acquire("k", "u")))
						ask("DEL", "k")
					case "of before":
						counted(ask, "k", old, set1.String(), "")
					}
					ask("SET", CounterKey("k"), counter)
					// Others in the list, with a higher counter in another lock.
					got := inOneBatch(t, r, also(acquire("i", "0"), "j"), also(acquire("h", "1"), "k"), also(acquire("l", "0"), "m"))
					granted(t, got[0])
					granted(t, got[2])
					require.True(t, failed(t, got[1], wire.ErrCounter).Unsent)
					require.Equal(t, counter, tokenIn(ask, "k"), "it stays as it was")
					require.Nil(t, ask("GET", "k"))
					require.Nil(t, ask("GET", "h"))
					require.True(t, failed(t, r.Do(within(t), acquire("k", "1")), wire.ErrCounter).Unsent)
					require.Equal(t, counter, tokenIn(ask, "k"), "it stays as it was")
				})
			}
		}
	})
}

// A key that the user may not touch, at all or only within the script, costs only its own lock.
func TestForbiddenKeyInAList(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{})
	for name, rights := range map[string][]string{
		"at all":            {"~mine:*", "~{mine:*", "+@all"},
		"within the script": {"+@all", "-mget", "-get", "-set", "-incr", "-incrby", "-exists", "~*", "(+@all ~mine:* ~{mine:*)"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(rights) > 3 {
				instancetest.Needs(t, 7, 0, "selectors")
			}
			s.MustAsk(append([]string{"ACL", "SETUSER", "some", "reset", "on", ">pw"}, rights...)...)
			s.MustAsk("FLUSHALL")
			r := open(t, "redis://some:pw@"+s.Addr(), Config{})
			got := inOneBatch(t, r, acquire("mine:0", "0"), acquire("theirs", "1"), acquire("mine:2", "2"))
			got = append(got, inOneBatch(t, r, also(acquire("mine:3", "0"), "mine:4"), also(acquire("mine:5", "1"), "theirs"), also(acquire("mine:6", "2"), "mine:7"))...)
			for i, vote := range got {
				if i%3 == 1 {
					failed(t, vote, ErrPermission)
				} else {
					granted(t, vote)
				}
			}
			require.Equal(t, ":0", s.MustAsk("EXISTS", "theirs"))
		})
	}
}

// A failure without its text is no refusal.
func TestListFailureWithoutText(t *testing.T) {
	l := list{parser: parser{rest: []byte("*4\r\n:4\r\n$-1\r\n:0\r\n:0\r\n")}}
	_, _ = l.acquisition()
	require.False(t, l.end())
}
