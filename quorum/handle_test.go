package quorum_test

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// goodText is a handle's text, and goodFields what it carries. Other processes read this format, so it mustn't
// change without a new version.
const (
	goodFields = `{"key":"b3JkZXJzLzQy","value":"00112233445566778899aabbccddeeff00112233:worker-7",` +
		`"token":33,"ttl_ns":10000000000,"deadline":"2030-01-02T03:04:05.000000678Z","set":"main@2 N=5 Q=3 MaxTTL=30s",` +
		`"max_life_ns":60000000000,"lived_ns":4000000000,"sent":"2030-01-02T03:04:01Z"}`
	goodText = prefix + "5N3LqkVua_N7ImtleSI6ImIzSmtaWEp6THpReSIsInZhbHVlIjoiMDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmYwMDExMjIzMzp3b3" +
		"JrZXItNyIsInRva2VuIjozMywidHRsX25zIjoxMDAwMDAwMDAwMCwiZGVhZGxpbmUiOiIyMDMwLTAxLTAyVDAzOjA0OjA1LjAwMDAwMDY3OFoi" +
		"LCJzZXQiOiJtYWluQDIgTj01IFE9MyBNYXhUVEw9MzBzIiwibWF4X2xpZmVfbnMiOjYwMDAwMDAwMDAwLCJsaXZlZF9ucyI6NDAwMDAwMDAwMC" +
		"wic2VudCI6IjIwMzAtMDEtMDJUMDM6MDQ6MDFaIn0"
	prefix = "redlock-handle:3:"
)

// opened is what a handle's text carries, and sealed makes a text of it.
func opened(t testing.TB, text string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, prefix))
	require.NoError(t, err)
	return string(data[8:])
}

func sealed(fields string) string {
	sum := sha256.Sum256([]byte(fields))
	return prefix + base64.RawURLEncoding.EncodeToString(append(sum[:8], fields...))
}

func text(t testing.TB, h quorum.Handle) string {
	t.Helper()
	written, err := h.Text()
	require.NoError(t, err)
	return written
}

func parse(t testing.TB, text string) quorum.Handle {
	t.Helper()
	h, err := quorum.ParseHandle(text)
	require.NoError(t, err)
	return h
}

// handOff hands a lease off, which must be held.
func (f *fixture) handOff(lease *quorum.Lease) quorum.Handle {
	f.t.Helper()
	h, err := lease.HandOff(f.ctx)
	require.NoError(f.t, err)
	return h
}

// requireNoValue demands that no server has a value the client could have set; nil means any
// client.
func (f *fixture) requireNoValue(by *quorum.Coordinator, key string) {
	f.t.Helper()
	for _, s := range f.servers {
		value, _, there := s.Get(key)
		if by == nil || !there || value == strangers {
			assert.False(f.t, there && value != strangers, "%s has %q", s.Name(), key)
			continue
		}
		log := s.Log()
		for _, e := range log {
			if len(e.Request.Delete) > 0 && e.Request.Value == value {
				assert.Fail(f.t, "what was replaced is deleted again", "%s has it", s.Name())
			}
		}
	}
}

func TestHandleRoundTrips(t *testing.T) {
	h := parse(t, goodText)
	assert.Equal(t, goodText, text(t, h))
	assert.Equal(t, "orders/42", h.Key())
	assert.EqualValues(t, 33, h.Token())
	assert.Equal(t, int64(1893553445000000678), h.Deadline().UnixNano())
	assert.Equal(t, goodFields, opened(t, goodText))
	assert.Equal(t, goodText, sealed(goodFields))
	assert.Equal(t, goodText, text(t, parse(t, goodText+"\r\n")), "as a shell or a file may add it")
}

// errorf is what an assertion of testify says.
type errorf string

func (e *errorf) Errorf(format string, args ...any) { *e += errorf(fmt.Sprintf(format, args...)) }

// Nothing but Text reveals the secret.
func TestHandleIsNotPrinted(t *testing.T) {
	const secret = "00112233"
	h := parse(t, goodText)
	type job struct {
		Name   string
		Lock   quorum.Handle
		hidden quorum.Handle
	}
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		printed := fmt.Sprintf(verb, h)
		assert.Contains(t, printed, "orders/42", verb)
		for _, in := range []any{h, &h, job{"a", h, h}, []quorum.Handle{h}, map[string]quorum.Handle{"a": h}} {
			assert.NotContains(t, fmt.Sprintf(verb, in), secret, verb)
		}
	}
	for _, in := range []any{h, &h, job{"a", h, h}, []quorum.Handle{h}, map[string]quorum.Handle{"a": h}} {
		written, err := json.Marshal(in)
		require.ErrorIs(t, err, quorum.ErrConfig, "losing a handle on the way must be noticed")
		assert.ErrorContains(t, err, "Handle.Text")
		assert.Empty(t, written)
	}
	// By reflection, as in the message of a test that failed. It calls no methods, and follows pointers.
	var failure errorf
	assert.Equal(&failure, job{"a", h, h}, job{"b", quorum.Handle{}, h})
	assert.Contains(t, failure, "orders/42")
	assert.NotContains(t, failure, secret)
	assert.Equal(t, h, h)
	_, textual := any(h).(encoding.TextMarshaler)
	assert.False(t, textual, "loggers and encoders use it unasked")
}

// A log line names the lease and can't be used to release it.
func TestHandleIsNotLogged(t *testing.T) {
	h := parse(t, goodText)
	var out strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		out.Reset()
		log := slog.New(handler)
		log.Info("sent", "handle", h)
		log.Info("sent", "handle", &h)
		log.With("handle", h).Info("sent")
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			require.Contains(t, line, "orders")
			require.Contains(t, line, "33")
			require.Contains(t, line, "2030-01-02T03:04:05")
			require.Contains(t, line, "main")
		}
		log.Info("sent", "handles", []quorum.Handle{h}, "job", struct{ H quorum.Handle }{h}, "map", map[string]any{"h": h})
		require.NotContains(t, out.String(), "00112233")
	}
}

// A text that was damaged on its way is refused, and the error doesn't quote it.
func TestDamagedHandleIsRefused(t *testing.T) {
	damaged := map[string]string{
		"":                                      "is no handle",
		"null":                                  "is no handle",
		goodText + "A":                          "cut off or altered",
		goodText + "=":                          "cut off or altered",
		goodText + " x":                         "cut off or altered",
		goodText + goodText:                     "cut off or altered",
		prefix:                                  "cut off or altered",
		strings.ToLower(goodText):               "cut off or altered",
		strings.ToUpper(goodText):               "another version",
		goodFields:                              "another version",
		`{"redlock_handle":2,` + goodFields[1:]: "another version",
		strings.Replace(goodText, ":3:", ":4:", 1):                                       "another version",
		prefix + strings.NewReplacer("-", "+", "_", "/").Replace(goodText[len(prefix):]): "cut off or altered",
	}
	for i := range len(goodText) {
		damaged[goodText[:i]] = ""
		damaged[goodText[:i]+goodText[i+1:]] = ""
		other := byte('A')
		if goodText[i] == other {
			other = 'B'
		}
		damaged[goodText[:i]+string(other)+goodText[i+1:]] = ""
	}
	for text, says := range damaged {
		h, err := quorum.ParseHandle(text)
		require.ErrorIs(t, err, quorum.ErrConfig, text)
		require.ErrorContains(t, err, says, text)
		require.Zero(t, h)
		require.Less(t, len(err.Error()), 200)
		require.NotContains(t, err.Error(), goodText[len(prefix)+8:len(prefix)+16], "an error gives no secret away")
	}
}

// Every key survives the way, also if it is no UTF-8.
func TestHandleOfAnyKey(t *testing.T) {
	_, err := quorum.Handle{}.Text()
	require.ErrorIs(t, err, quorum.ErrConfig)
	assert.ErrorContains(t, err, "Lease.HandOff and ParseHandle make one")
	play(t, 1, func(f *fixture) {
		for _, key := range []string{"a\xff", "a\x1b[2J", "\u2028<&>", "a b\n"} {
			h := parse(t, text(t, f.handOff(f.acquire(key))))
			assert.Equal(t, key, h.Key())
			assert.NotContains(t, h.String(), "\x1b", "a terminal would execute it")
			lease, err := f.Resume(f.ctx, h)
			require.NoError(t, err)
			require.NoError(t, lease.Release(f.ctx))
		}
	})
}

// HandOff's promise if instances hang and the keeper is extending: it takes a few InstanceTimeouts,
// or until the context ends. A lease with an undecided extension is still held.
func TestHandingOffWaitsForTheKeeper(t *testing.T) {
	for hung, wants := range map[int]error{1: nil, 3: quorum.ErrInterrupted} {
		for _, patient := range []bool{true, false} {
			t.Run(fmt.Sprint(hung, patient), func(t *testing.T) {
				play(t, 5, func(f *fixture) {
					lease := f.acquire("k")
					synctest.Wait()
					lease.KeepAlive()
					for i := range hung {
						f.hang(i)
					}
					for f.count(4, wire.Extend) == 0 {
						time.Sleep(ms)
						synctest.Wait()
					}
					ctx, cancel, at := f.ctx, func() {}, time.Now()
					if !patient {
						ctx, cancel = context.WithTimeout(f.ctx, 50*ms)
					}
					defer cancel()
					_, err := lease.HandOff(ctx)
					took := time.Since(at)
					if patient {
						require.NoError(t, err)
						require.ErrorIs(t, lease.Err(), quorum.ErrHandedOff)
						assert.LessOrEqual(t, took, 4*f.Config().InstanceTimeout)
					} else {
						require.ErrorIs(t, err, wants)
						assert.Equal(t, 50*ms, took)
						assert.Equal(t, wants != nil, lease.Err() == nil)
					}
					for i := range hung {
						f.resume(i)
					}
				})
			})
		}
	}
}

func TestResumeInAnotherProcess(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		value := lease.Value()
		sent := text(t, f.handOff(lease))
		time.Sleep(4 * time.Second)

		// The other process has other defaults; the lease keeps its own TTL.
		other := f.other(func(c *quorum.Config) { c.TTL = 5 * time.Second })
		resumed, err := other.Resume(f.ctx, parse(t, sent))
		require.NoError(t, err)
		assert.Equal(t, fullValidity, resumed.Validity())
		assert.Greater(t, resumed.Token(), lease.Token(), "what the sender writes late is refused")
		assert.NotEqual(t, value, resumed.Value())
		assert.Equal(t, "k", resumed.Key())
		require.NoError(t, f.Settle(f.ctx))
		synctest.Wait()
		assert.Len(t, resumed.Instances(), 5)
		for _, s := range f.servers {
			held, _, _ := s.Get("k")
			assert.Equal(t, resumed.Value(), held)
		}

		// It can do all that a lease can.
		time.Sleep(9 * time.Second)
		require.NoError(t, resumed.Extend(f.ctx))
		assert.Equal(t, fullValidity, resumed.Validity())
		f.tryFailsBy(f.other(), "k", quorum.ErrTaken)
		again := f.handOff(resumed)
		third, err := f.Resume(f.ctx, again)
		require.NoError(t, err)
		require.NoError(t, third.Release(f.ctx))
		require.NoError(t, other.Settle(f.ctx))
		f.requireNothingLeft()
	})
}

// Late requests of the sender name its old value, so they can't shorten, extend or delete the
// receiver's lease.
func TestNothingLateOfTheSenderHurtsTheReceiver(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		value := lease.Value()
		resumed, err := f.other().Resume(f.ctx, f.handOff(lease))
		require.NoError(t, err)
		synctest.Wait()
		for _, s := range f.servers {
			late := wire.Request{Keys: []string{"k"}, Value: value, TTL: ms, Fence: wire.Fence{TTL: 24 * time.Hour, Ahead: time.Second, Token: 1}}
			for _, op := range []wire.Op{wire.Acquire, wire.Extend, wire.Restore, wire.Raise, wire.Release} {
				late.Op = op
				assert.Equal(t, wire.Refused, s.Do(f.ctx, late).Outcome, "%v", op)
			}
			_, left, ok := s.Get("k")
			assert.True(t, ok)
			assert.Greater(t, left, 9*time.Second)
		}
		require.NoError(t, resumed.Release(f.ctx))
	})
}

// A handle works once: if two processes get it, one has the lease.
func TestHandleWorksOnce(t *testing.T) {
	play(t, 5, func(f *fixture) {
		handle := f.handOff(f.acquire("k"))
		require.NoError(t, f.Settle(f.ctx))
		first, err := f.other().Resume(f.ctx, handle)
		require.NoError(t, err)
		synctest.Wait()
		_, err = f.other().Resume(f.ctx, handle)
		require.ErrorIs(t, err, quorum.ErrLost)
		require.NoError(t, first.Err())
		require.NoError(t, first.Release(f.ctx))
	})
}

// The lease can also be handed off within Do, which leaves it alone then.
func TestHandingOffWithinDo(t *testing.T) {
	play(t, 3, func(f *fixture) {
		var handle quorum.Handle
		require.NoError(t, f.Do(f.ctx, "k", func(ctx context.Context, lease *quorum.Lease) error {
			handle = f.handOff(lease)
			<-ctx.Done()
			return nil
		}))
		time.Sleep(3 * time.Second)
		resumed, err := f.other().Resume(f.ctx, handle)
		require.NoError(t, err)
		require.NoError(t, resumed.Release(f.ctx))
	})
}

// MaxLife moves with the lease: however often it is handed off, it ends at the same time.
func TestMaxLifeGoesAlong(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(5 * time.Second)
		handle := f.handOff(lease)
		time.Sleep(2 * time.Second)
		other := f.other(func(c *quorum.Config) { c.MaxLife = 0 })
		resumed, err := other.Resume(f.ctx, handle)
		require.NoError(t, err)
		resumed.KeepAlive()
		<-resumed.Done()
		require.ErrorIs(t, resumed.Err(), quorum.ErrExpired)
		assert.ErrorContains(t, resumed.Err(), "MaxLife")
		assert.InDelta(t, 25*time.Second, f.elapsed(), float64(time.Second))
		assert.LessOrEqual(t, f.elapsed(), 25*time.Second)

		// A receiver with a shorter MaxLife gets less.
		lease = f.acquire("j")
		time.Sleep(5 * time.Second)
		handle = f.handOff(lease)
		brief := f.other(func(c *quorum.Config) { c.MaxLife = 11 * time.Second })
		resumed, err = brief.Resume(f.ctx, handle)
		require.NoError(t, err)
		assert.LessOrEqual(t, resumed.Validity(), 6*time.Second)

		// A lease that has reached MaxLife isn't resumed.
		lease = f.acquire("i")
		time.Sleep(9 * time.Second)
		require.NoError(t, lease.Extend(f.ctx))
		time.Sleep(3 * time.Second)
		handle = f.handOff(lease)
		_, err = brief.Resume(f.ctx, handle)
		require.ErrorIs(t, err, quorum.ErrExpired)

		// Nor is it if the sender's clock was in another millennium.
		sent := opened(t, text(t, handle))
		at := strings.LastIndex(sent, `"sent":"`) + len(`"sent":"`)
		_, err = brief.Resume(f.ctx, parse(t, sealed(sent[:at]+"1066"+sent[at+4:])))
		require.ErrorIs(t, err, quorum.ErrExpired)
		assert.ErrorContains(t, err, "MaxLife")
	}, func(c *quorum.Config) { c.MaxLife = 25 * time.Second })
}

func TestResumeOfWhatIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *fixture)
		want  error
	}{
		"released": {func(f *fixture) { f.each(func(s *quorumtest.Server) { s.Delete("k") }) }, quorum.ErrLost},
		"taken over": {func(f *fixture) {
			f.each(func(s *quorumtest.Server) { s.Delete("k") })
			f.occupy("k", time.Minute)
		}, quorum.ErrLost},
		"minority has it": {func(f *fixture) { f.each(func(s *quorumtest.Server) { s.Delete("k") }, 0, 1, 2) }, quorum.ErrLost},
		"unreachable":     {func(f *fixture) { f.hang(0, 1, 2) }, quorum.ErrNoQuorum},
		"expired":         {func(*fixture) { time.Sleep(fullValidity) }, quorum.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				handle := f.handOff(lease)
				c.spoil(f)
				asked := len(f.ops(4))
				other := f.other()
				resumed, err := other.Resume(f.ctx, handle)
				require.ErrorIs(t, err, c.want)
				assert.Nil(t, resumed)
				f.resume()
				require.NoError(t, other.Settle(f.ctx))
				if c.want != quorum.ErrExpired {
					f.requireNoValue(other, "k")
				}
				if c.want == quorum.ErrExpired {
					assert.Len(t, f.ops(4), asked, "no server is asked")
				}
			})
		})
	}
}

// Too few answers don't show that the lease is lost.
func TestResumeTellsUnknownFromLost(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.occupy("k", time.Hour, 0)
		lease := f.acquire("k")
		f.quiesce()
		require.Equal(f.t, []string{"B", "C", "D", "E"}, lease.Instances())
		handle := f.handOff(lease)
		f.hang(3, 4)
		_, err := f.other().Resume(f.ctx, handle)
		require.ErrorIs(f.t, err, quorum.ErrNoQuorum)
		require.NotErrorIs(f.t, err, quorum.ErrLost)
		f.resume(3, 4)
	})
}

// A lease may be handed off until MaxLife, though the rest is shorter than any allowed TTL.
func TestHandlesNearTheirMaxLife(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(9 * time.Second)
		require.NoError(f.t, lease.Extend(f.ctx))
		time.Sleep(5*time.Second + 850*ms)
		for range 3 { // 150 ms are left of 15 s
			var err error
			lease, err = f.other().Resume(f.ctx, f.handOff(lease))
			require.NoError(f.t, err)
			require.LessOrEqual(f.t, lease.Validity(), 150*ms)
		}
		handle := f.handOff(lease)
		_, err := f.other(func(c *quorum.Config) { c.MinValidity = time.Second }).Resume(f.ctx, handle)
		require.ErrorIs(f.t, err, quorum.ErrExpired)
		require.ErrorContains(f.t, err, "MinValidity is 1s")
	}, func(c *quorum.Config) { c.TTL, c.MaxTTL, c.MaxLife = 10*time.Second, 10*time.Second, 15*time.Second })
	play(t, 3, func(f *fixture) {
		handle := f.handOff(f.acquire("k"))
		lease, err := f.other(func(c *quorum.Config) { c.TTL, c.MaxLife = 2*time.Second, 5*time.Second }).Resume(f.ctx, handle)
		require.NoError(f.t, err, "the receiver's MaxLife is shorter than the handle's TTL")
		require.LessOrEqual(f.t, lease.Validity(), 5*time.Second)
	}, func(c *quorum.Config) { c.MaxTTL = 10 * time.Second })
}

func TestResumeRefusesWhatDoesNotFit(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		good := text(t, f.handOff(lease))
		fields := opened(t, good)
		asked := len(f.ops(0))
		set := f.Set().String()
		for name, change := range map[string][2]string{
			"another set":         {set, strings.Replace(set, "@0", "@1", 1)},
			"another N":           {set, strings.Replace(set, "N=5", "N=3", 1)},
			"another Q":           {set, strings.Replace(set, "Q=3", "Q=4", 1)},
			"another MaxTTL":      {set, strings.Replace(set, "MaxTTL=10s", "MaxTTL=20s", 1)},
			"a TTL above MaxTTL":  {`"ttl_ns":10000000000`, `"ttl_ns":60000000000`},
			"a TTL that is short": {`"ttl_ns":10000000000`, `"ttl_ns":100000000`},
		} {
			changed := strings.Replace(fields, change[0], change[1], 1)
			require.NotEqual(t, fields, changed, name)
			handle := parse(t, sealed(changed))
			_, err := f.Resume(f.ctx, handle)
			require.ErrorIs(t, err, quorum.ErrConfig, name)
		}
		_, err := f.Resume(f.ctx, quorum.Handle{})
		require.ErrorIs(t, err, quorum.ErrConfig)
		other := parse(t, sealed(strings.Replace(fields, set, "other"+set, 1)))
		_, err = f.Resume(f.ctx, other)
		require.ErrorIs(t, err, wire.ErrSetMismatch)
		assert.ErrorContains(t, err, "other@0 N=5 Q=3")
		require.NoError(t, f.Settle(f.ctx))
		assert.Len(t, f.ops(0), asked, "no server is asked")

		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err = f.Resume(ended, parse(t, good))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.NoError(t, f.Close(f.ctx))
		_, err = f.Resume(f.ctx, parse(t, good))
		require.ErrorIs(t, err, quorum.ErrClosed)
	})
}

// If the counters have fallen below the handle's token the lease isn't resumed, because the resource would
// refuse the new token.
func TestResumeAfterTheCountersWereLost(t *testing.T) {
	play(t, 5, func(f *fixture) {
		handle := f.handOff(f.acquire("k"))
		synctest.Wait()
		f.each(func(s *quorumtest.Server) { s.PutCounter("k", 7) })
		_, err := f.other().Resume(f.ctx, handle)
		require.ErrorIs(t, err, quorum.ErrConfig)
		assert.ErrorContains(t, err, "the instances' counters have only reached")
		f.requireNothingLeft()
	})
}

// A SET of the sender that went unanswered arrives after the receiver's release. The sender deletes
// its key.
func TestSenderDeletesItsStragglers(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.acquire("warm")
		synctest.Wait() // otherwise D or E may hang before it was probed, and get no SET
		f.hang(3, 4)
		lease := f.acquire("k")
		handle := f.handOff(lease)
		other := f.other()
		resumed, err := other.Resume(f.ctx, handle)
		require.NoError(t, err)
		require.NoError(t, resumed.Release(f.ctx))
		time.Sleep(time.Second)
		f.resume(3, 4)
		require.NoError(t, f.Settle(f.ctx))
		require.NoError(t, other.Settle(f.ctx))
		f.requireNoValue(nil, "k")
	})
}

// A lease that was handed to another process may be released there at any time, so no waiter here
// relies on its validity.
func TestWaitersDoNotTrustALeaseThatWasHandedOff(t *testing.T) {
	for name, releaser := range map[string]func(f *fixture) *quorum.Coordinator{
		"elsewhere": func(f *fixture) *quorum.Coordinator { return f.other() },
		"here":      func(f *fixture) *quorum.Coordinator { return f.Coordinator },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				acquired := make(chan error, 1)
				go func() {
					next, err := f.Acquire(f.ctx, "k")
					if err == nil {
						err = next.Release(f.ctx)
					}
					acquired <- err
				}()
				synctest.Wait() // it waits in the queue
				resumed, err := releaser(f).Resume(f.ctx, f.handOff(lease))
				require.NoError(t, err)
				require.NoError(t, resumed.Release(f.ctx))
				require.NoError(t, <-acquired)
				assert.Less(t, f.elapsed(), time.Second, "the lock was free, and it slept")
			})
		})
	}
}

// The hook is told how long the lease was held, also before it was handed off.
func TestResumedLeaseTellsHowLongItWasHeld(t *testing.T) {
	var told []quorum.LeaseEvent
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		time.Sleep(4 * time.Second)
		handle, err := lease.HandOff(f.ctx)
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		resumed, err := f.Resume(f.ctx, handle)
		require.NoError(t, err)
		require.NoError(t, resumed.Release(f.ctx))
		require.Len(t, told, 2)
		assert.Equal(t, 9*time.Second, told[1].Held)
	}, func(cfg *quorum.Config) {
		cfg.Hooks.Released = func(_ context.Context, e quorum.LeaseEvent) { told = append(told, e) }
	})
}
