package quorum_test

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

var (
	_ encoding.TextMarshaler   = quorum.Handle{}
	_ encoding.TextUnmarshaler = (*quorum.Handle)(nil)
	_ json.Marshaler           = quorum.Handle{}
	_ json.Unmarshaler         = (*quorum.Handle)(nil)
)

func goodHandle() quorum.Handle {
	return quorum.Handle{
		Key: "orders/42", Value: "00112233445566778899aabbccddeeff00112233:worker-7", Token: 33,
		TTL: 10 * time.Second, Deadline: time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC),
		Set: quorum.Set{Name: "main", Version: 2, N: 5, Q: 3},
	}
}

func text(t testing.TB, h quorum.Handle) string {
	t.Helper()
	b, err := h.MarshalText()
	require.NoError(t, err)
	return string(b)
}

func requireSameHandle(t testing.TB, want, got quorum.Handle) {
	t.Helper()
	require.True(t, want.Deadline.Equal(got.Deadline), "%v, %v", want.Deadline, got.Deadline)
	got.Deadline = want.Deadline
	require.Equal(t, want, got)
}

func TestHandleRoundTrips(t *testing.T) {
	h := goodHandle()
	parsed, err := quorum.ParseHandle(text(t, h))
	require.NoError(t, err)
	requireSameHandle(t, h, parsed)

	var fromText quorum.Handle
	require.NoError(t, fromText.UnmarshalText([]byte(text(t, h))))
	requireSameHandle(t, h, fromText)

	// Inside something bigger, printed over many lines, it is still itself.
	type job struct {
		Name string
		Lock quorum.Handle
	}
	b, err := json.MarshalIndent(job{"a", h}, "", "   ")
	require.NoError(t, err)
	assert.Contains(t, string(b), `"redlock_handle": 1`)
	var back job
	require.NoError(t, json.Unmarshal(b, &back))
	requireSameHandle(t, h, back.Lock)

	for _, zone := range []*time.Location{time.FixedZone("", 5*3600+1800), time.FixedZone("x", -11*3600)} {
		h.Deadline = h.Deadline.In(zone)
		parsed, err := quorum.ParseHandle(text(t, h))
		require.NoError(t, err)
		requireSameHandle(t, h, parsed)
	}
}

// The form is what other processes of other versions read: it mustn't change
// without a new version.
func TestHandleTextStaysAsItIs(t *testing.T) {
	assert.JSONEq(t, `{"redlock_handle":1,"key":"orders/42","value":"00112233445566778899aabbccddeeff00112233:worker-7",
		"token":33,"ttl_ns":10000000000,"deadline":"2030-01-02T03:04:05.000000678Z",
		"set":"main@2 N=5 Q=3"}`, text(t, goodHandle()))
}

func TestHandleIsNotPrinted(t *testing.T) {
	h := goodHandle()
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
		printed := fmt.Sprintf(verb, h)
		assert.NotContains(t, printed, "00112233", verb)
		assert.Contains(t, printed, "orders/42", verb)
		assert.NotContains(t, fmt.Sprintf(verb, &h), "00112233", verb)
		assert.NotContains(t, fmt.Sprintf(verb, struct{ H quorum.Handle }{h}), "00112233", verb)
	}
}

// A log line names the lease and can't be used to release it.
func TestHandleIsNotLogged(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef01234567"
	h := quorum.Handle{
		Key: "orders", Value: secret, Token: 42, TTL: 10 * time.Second,
		Deadline: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Set: quorum.Set{Name: "prod", Version: 1, N: 5, Q: 3},
	}
	var out strings.Builder
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		out.Reset()
		log := slog.New(handler)
		log.Info("sent", "handle", h)
		log.Info("sent", "handle", &h)
		log.With("handle", h).Info("sent")
		require.NotContains(t, out.String(), secret)
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			require.Contains(t, line, "orders")
			require.Contains(t, line, "42")
			require.Contains(t, line, "2026-01-02T03:04:05")
			require.Contains(t, line, "prod")
		}
	}
}

func TestHandleThatWasTamperedWithIsRefused(t *testing.T) {
	whole := text(t, goodHandle())
	for name, change := range map[string][2]string{
		"no version":             {`"redlock_handle":1,`, ``},
		"another version":        {`"redlock_handle":1`, `"redlock_handle":2`},
		"no key":                 {`"key":"orders/42",`, ``},
		"an empty key":           {`orders/42`, ``},
		"a key with braces":      {`orders/42`, `{orders}`},
		"a key with NUL":         {`orders/42`, `a\u0000b`},
		"a long key":             {`orders/42`, strings.Repeat("k", quorum.MaxKey+1)},
		"no value":               {`"value":"00112233445566778899aabbccddeeff00112233:worker-7",`, ``},
		"a short value":          {`"0011`, `"11`},
		"a long value":           {`"0011`, `"000011`},
		"a value in capitals":    {`aabb`, `AABB`},
		"an owner with spaces":   {`worker-7`, `worker 7`},
		"a long owner":           {`worker-7`, strings.Repeat("w", quorum.MaxOwner+1)},
		"no owner after a colon": {`:worker-7`, `:`},
		"no token":               {`"token":33,`, ``},
		"a token too large":      {`"token":33`, `"token":9007199254740992`},
		"a negative token":       {`"token":33`, `"token":-1`},
		"a token in words":       {`"token":33`, `"token":"33"`},
		"no TTL":                 {`"ttl_ns":10000000000,`, ``},
		"a negative TTL":         {`10000000000`, `-10000000000`},
		"half a millisecond":     {`10000000000`, `10000500000`},
		"eleven years":           {`10000000000`, `346896000000000000`},
		"no deadline":            {`"deadline":"2030-01-02T03:04:05.000000678Z",`, ``},
		"a zero deadline":        {`2030-01-02T03:04:05.000000678Z`, `0001-01-01T00:00:00Z`},
		"a deadline in words":    {`2030-01-02T03:04:05.000000678Z`, `tomorrow`},
		"no set":                 {`,"set":"main@2 N=5 Q=3"`, ``},
		"a null set":             {`"main@2 N=5 Q=3"`, `null`},
		"a bad set's name":       {`main@`, `ma in@`},
		"an unknown field":       {`"token":33`, `"token":33,"extra":1`},
		"half a set":             {`N=5 Q=3`, `N=5`},
		"something after it":     {`Q=3"}`, `Q=3"}{}`},
		"letters after it":       {`Q=3"}`, `Q=3"} x`},
		"a list around it":       {whole, "[" + whole + "]"},
		"null":                   {whole, "null"},
		"nothing":                {whole, ""},
		"too much":               {`"token":33`, `"token":33` + strings.Repeat(" ", 20<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(whole, change[0], change[1], 1)
			require.NotEqual(t, whole, changed)
			h, err := quorum.ParseHandle(changed)
			require.ErrorIs(t, err, quorum.ErrConfig)
			assert.Zero(t, h)
			assert.NotContains(t, err.Error(), "8899aabb", "an error gives no secret away")
			assert.Error(t, new(quorum.Handle).UnmarshalText([]byte(changed)))
		})
	}
	for n := range len(whole) {
		_, err := quorum.ParseHandle(whole[:n])
		require.ErrorIs(t, err, quorum.ErrConfig, "cut off after %d", n)
	}
}

func TestHandleThatCannotBeUsedIsNotWritten(t *testing.T) {
	for name, spoil := range map[string]func(*quorum.Handle){
		"zero":              func(h *quorum.Handle) { *h = quorum.Handle{} },
		"key":               func(h *quorum.Handle) { h.Key = "" },
		"value":             func(h *quorum.Handle) { h.Value = "secret" },
		"TTL":               func(h *quorum.Handle) { h.TTL = 1 },
		"token":             func(h *quorum.Handle) { h.Token = fencing.MaxToken + 1 },
		"deadline":          func(h *quorum.Handle) { h.Deadline = time.Time{} },
		"far deadline":      func(h *quorum.Handle) { h.Deadline = h.Deadline.AddDate(9000, 0, 0) },
		"set":               func(h *quorum.Handle) { h.Set.Name = "ü" },
		"key isn't UTF-8":   func(h *quorum.Handle) { h.Key = "a\xff" },
		"neither its owner": func(h *quorum.Handle) { h.Value += "\xff" },
	} {
		t.Run(name, func(t *testing.T) {
			h := goodHandle()
			spoil(&h)
			_, err := h.MarshalText()
			require.ErrorIs(t, err, quorum.ErrConfig)
			_, err = json.Marshal(h)
			require.Error(t, err)
		})
	}
}

func FuzzParseHandle(f *testing.F) {
	whole := text(f, goodHandle())
	f.Add(whole)
	f.Add(whole[:40])
	f.Add(strings.Replace(whole, "2030", "9999", 1))
	f.Add(strings.Replace(whole, "Z", "+23:59", 1))
	f.Add(strings.Replace(whole, "orders", `\ud800\uffff<>&`, 1))
	f.Add(strings.ToUpper(whole))
	f.Fuzz(func(t *testing.T, input string) {
		h, err := quorum.ParseHandle(input)
		if err != nil {
			require.ErrorIs(t, err, quorum.ErrConfig)
			require.Zero(t, h)
			return
		}
		again, err := quorum.ParseHandle(text(t, h))
		require.NoError(t, err, "what was read can be written and read")
		requireSameHandle(t, h, again)
		random, _, _ := strings.Cut(h.Value, ":")
		require.NotContains(t, h.String(), random)
	})
}

func TestResumeInAnotherProcess(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		sent := text(t, lease.Handle())
		time.Sleep(4 * time.Second)

		// The other process has other defaults; the lease keeps its own TTL.
		other := f.other(func(c *quorum.Config) { c.TTL, c.MaxTTL = 5*time.Second, 10*time.Second })
		handle, err := quorum.ParseHandle(sent)
		require.NoError(t, err)
		resumed, err := other.Resume(f.ctx, handle)
		require.NoError(t, err)
		assert.Equal(t, fullValidity, resumed.Validity())
		assert.Equal(t, lease.Token(), resumed.Token())
		assert.Equal(t, lease.Value(), resumed.Value())
		assert.Equal(t, "k", resumed.Key())
		assert.Nil(t, resumed.Votes())
		require.NoError(t, f.Settle(f.ctx))
		synctest.Wait()
		assert.Len(t, resumed.Instances(), 5)

		// And can do all that a lease can.
		time.Sleep(9 * time.Second)
		require.NoError(t, resumed.Extend(f.ctx))
		assert.Equal(t, fullValidity, resumed.Validity())
		_, err = f.other().TryAcquire(f.ctx, "k")
		require.ErrorIs(t, err, quorum.ErrTaken)
		require.NoError(t, resumed.Release(f.ctx))
		require.NoError(t, other.Settle(f.ctx))
		f.requireNothingLeft()
	})
}

// A lease on a bare majority comes back on all instances, and their counters with
// it.
func TestResumeTopsUp(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.kill(3, 4)
		lease := f.acquire("k")
		f.each(func(s *quorumtest.Server) { s.Start(false) }, 3, 4)
		other := f.other()
		resumed, err := other.Resume(f.ctx, lease.Handle())
		require.NoError(t, err)
		require.NoError(t, other.Settle(f.ctx))
		synctest.Wait()
		assert.Len(t, resumed.Instances(), 5)
		for _, s := range f.servers {
			assert.GreaterOrEqual(t, s.Counter("k"), lease.Token())
		}
	})
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
		"unreachable":     {func(f *fixture) { f.hang(0, 1, 2) }, quorum.ErrNotExtended},
		"expired":         {func(*fixture) { time.Sleep(fullValidity) }, quorum.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 5, func(f *fixture) {
				lease := f.acquire("k")
				synctest.Wait()
				handle := lease.Handle()
				c.spoil(f)
				before := f.left()
				asked := len(f.ops(4))
				other := f.other()
				resumed, err := other.Resume(f.ctx, handle)
				require.ErrorIs(t, err, c.want)
				assert.Nil(t, resumed)
				require.NoError(t, other.Settle(f.ctx))
				assert.Equal(t, before, f.left(), "nothing is released, and nothing put back")
				if c.want == quorum.ErrExpired {
					assert.Len(t, f.ops(4), asked, "nobody is asked")
				}
			})
		})
	}
}

func TestResumeRefusesWhatDoesNotFit(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		for name, spoil := range map[string]func(*quorum.Handle){
			"another set":         func(h *quorum.Handle) { h.Set.Version++ },
			"another N":           func(h *quorum.Handle) { h.Set.N = 3 },
			"another Q":           func(h *quorum.Handle) { h.Set.Q = 4 },
			"a TTL above MaxTTL":  func(h *quorum.Handle) { h.TTL = time.Minute },
			"a TTL that is short": func(h *quorum.Handle) { h.TTL = 100 * ms },
			"a bad value":         func(h *quorum.Handle) { h.Value = "x" },
			"no token":            func(h *quorum.Handle) { h.Token = 0 },
			"zero":                func(h *quorum.Handle) { *h = quorum.Handle{} },
		} {
			handle := lease.Handle()
			spoil(&handle)
			_, err := f.Resume(f.ctx, handle)
			require.ErrorIs(t, err, quorum.ErrConfig, name)
			require.ErrorIs(t, f.ReleaseHandle(f.ctx, handle), quorum.ErrConfig, name)
		}
		other := lease.Handle()
		other.Set.Name = "other"
		_, err := f.Resume(f.ctx, other)
		require.ErrorIs(t, err, quorum.ErrSetMismatch)
		assert.ErrorContains(t, err, "other@0 N=5 Q=3")
		require.NoError(t, f.Settle(f.ctx))
		assert.Equal(t, []quorum.Op{quorum.Acquire}, f.ops(0), "nobody was asked")

		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err = f.Resume(ended, lease.Handle())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.NoError(t, f.Close(f.ctx))
		_, err = f.Resume(f.ctx, lease.Handle())
		require.ErrorIs(t, err, quorum.ErrClosed)
	})
}

func TestReleaseHandle(t *testing.T) {
	play(t, 5, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		handle := lease.Handle()
		ended, cancel := context.WithCancel(f.ctx)
		cancel()
		other := f.other()
		require.NoError(t, other.ReleaseHandle(ended, handle), "for a caller that was cancelled, too")
		require.NoError(t, other.Settle(f.ctx))
		f.requireNothingLeft()
		require.ErrorIs(t, other.ReleaseHandle(f.ctx, handle), quorum.ErrNotHeld)

		second := f.acquire("k")
		synctest.Wait()
		require.ErrorIs(t, other.ReleaseHandle(f.ctx, handle), quorum.ErrNotHeld)
		assert.Len(t, f.left(), 5, "the next holder's key stays")
		f.hang(0, 1, 2)
		require.ErrorIs(t, other.ReleaseHandle(f.ctx, second.Handle()), quorum.ErrUnreachable)
		f.resume(0, 1, 2)
		require.NoError(t, other.Settle(f.ctx))
		f.requireNothingLeft()
	})
}

func TestResumedLeaseIsKeptAlive(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		other := f.other(func(c *quorum.Config) { c.Terms.KeepAlive = true })
		resumed, err := other.Resume(f.ctx, lease.Handle())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, resumed.Err())
		require.NoError(t, resumed.Release(f.ctx))
		require.NoError(t, other.Settle(f.ctx))
	})
}

// A lease that was handed to another process may be released there at any time:
// nobody here waits for its validity to run out.
func TestWaitersDoNotTrustALeaseThatWasSentAway(t *testing.T) {
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
				synctest.Wait() // it stands in line
				handle := lease.Handle()
				require.NoError(t, releaser(f).ReleaseHandle(f.ctx, handle))
				require.NoError(t, <-acquired)
				assert.Less(t, f.elapsed(), time.Second, "the lock was free, and it slept")
			})
		})
	}
}
