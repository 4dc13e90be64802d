// Package guardtest tests the contract of fencing.Guard. Run it for each
// implementation:
//
//	func TestGuard(t *testing.T) {
//		guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard { return newGuard(t, b) })
//	}
//
// It knows nothing about the store, so it cannot test what happens when the
// store fails or restarts; that stays with the guard's own tests.
package guardtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redlock/fencing"
)

// Run tests one Guard against the contract in subtests. It calls fresh once for
// each of them; fresh returns a Guard without marks that accepts tokens up to the
// given bound, and registers its cleanup with t.Cleanup. The guard must
// hold at least 100 resources.
func Run(t *testing.T, fresh func(t *testing.T, b fencing.Bound) fencing.Guard) {
	t.Helper()
	var now atomic.Int64 // in microseconds since 1970
	now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	hour := fencing.Bound{Ahead: time.Hour, Now: func() time.Time { return time.UnixMicro(now.Load()) }}
	for _, c := range []struct {
		name  string
		test  func(*testing.T, fencing.Guard)
		bound fencing.Bound
	}{
		{"Order", order, fencing.Bound{Ahead: fencing.Unbounded}},
		{"Refusals", refusals, fencing.Bound{}},
		{"TwoVerbsOneMark", twoVerbs, fencing.Bound{}},
		{"Ahead", func(t *testing.T, g fencing.Guard) { ahead(t, g, hour, &now) }, hour},
		{"Forget", forget, fencing.Bound{}},
		{"NamesAreBytes", names, fencing.Bound{}},
		{"EndedContext", endedContext, fencing.Bound{}},
		{"Concurrent", concurrent, fencing.Bound{}},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t, c.bound)) })
	}
}

// verb is one of a Guard's two methods. The same rules apply to both.
type verb struct {
	name string
	call func(context.Context, string, fencing.Token) error
}

func verbs(g fencing.Guard) []verb {
	return []verb{{"Admit", g.Admit}, {"Check", g.Check}}
}

func pass(t *testing.T, v verb, resource string, tok fencing.Token) {
	t.Helper()
	if err := v.call(t.Context(), resource, tok); err != nil {
		t.Fatalf("%s(%q, %d) = %v, want it to pass", v.name, resource, uint64(tok), err)
	}
}

// stale expects a StaleError with the right fields.
func stale(t *testing.T, v verb, resource string, tok, highest fencing.Token) {
	t.Helper()
	err := v.call(t.Context(), resource, tok)
	var se *fencing.StaleError
	if !errors.As(err, &se) || !errors.Is(err, fencing.ErrStale) {
		t.Fatalf("%s(%q, %d) = %v, want a *fencing.StaleError that is ErrStale", v.name, resource, uint64(tok), err)
	}
	if want := (fencing.StaleError{Resource: resource, Token: tok, Highest: highest}); *se != want {
		t.Fatalf("%s(%q, %d) = %+v, want %+v", v.name, resource, uint64(tok), *se, want)
	}
}

// refused expects an error that wraps want and is no StaleError.
func refused(t *testing.T, v verb, ctx context.Context, resource string, tok fencing.Token, want error) {
	t.Helper()
	err := v.call(ctx, resource, tok)
	if !errors.Is(err, want) {
		t.Fatalf("%s(%.40q, %d) = %v, want an error that wraps %q", v.name, resource, uint64(tok), err, want)
	}
	if errors.Is(err, fencing.ErrStale) {
		t.Fatalf("%s(%.40q, %d) = %v, which is ErrStale as well", v.name, resource, uint64(tok), err)
	}
}

// order shows tokens that rise, each of them twice: an equal token is the same holder.
func order(t *testing.T, g fencing.Guard) {
	// 9 then 10: numbers, not text. A store that counts in floating point or in 32 bits loses the last ones.
	tokens := []fencing.Token{1, 2, 9, 10, 100, 1 << 32, fencing.MaxToken - 2, fencing.MaxToken - 1, fencing.MaxToken}
	for _, v := range verbs(g) {
		r := "order-" + v.name
		for _, tok := range tokens {
			pass(t, v, r, tok)
			pass(t, v, r, tok)
			if tok > 1 {
				stale(t, v, r, tok-1, tok)
			}
		}
		stale(t, v, r, 1, fencing.MaxToken)
	}
}

// refusals shows that no refusal changes a mark, or leaves one.
func refusals(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "refusal-" + v.name
		refuse := func() {
			t.Helper()
			refused(t, v, t.Context(), r, 0, fencing.ErrNoToken)
			for _, tok := range []fencing.Token{fencing.MaxToken + 1, 1 << 63, 1<<64 - 1} {
				refused(t, v, t.Context(), r, tok, fencing.ErrBadToken)
			}
			for _, name := range []string{"", strings.Repeat("x", fencing.MaxResourceLen+1), "a\x00b", "a\xff"} {
				refused(t, v, t.Context(), name, 1, fencing.ErrBadResource)
			}
		}
		refuse()
		pass(t, v, r, 1)
		pass(t, v, r, 10)
		stale(t, v, r, 5, 10)
		refuse()
		stale(t, v, r, 9, 10)
		pass(t, v, r, 10)
		pass(t, v, r, 11)
	}
}

// twoVerbs is the story of the package documentation as well: when the holder of 34 has been admitted,
// a late write under 33 is refused.
func twoVerbs(t *testing.T, g fencing.Guard) {
	admit, check := verbs(g)[0], verbs(g)[1]
	pass(t, admit, "r", 33)
	stale(t, check, "r", 32, 33)
	pass(t, check, "r", 33)
	pass(t, admit, "r", 34)
	stale(t, check, "r", 33, 34)
	pass(t, check, "r", 35) // a holder that did not announce itself
	stale(t, admit, "r", 34, 35)
	pass(t, admit, "r", 35)
}

// ahead shows tokens on both sides of the bound. A token above it leaves no mark, and
// the bound follows the clock.
func ahead(t *testing.T, g fencing.Guard, b fencing.Bound, now *atomic.Int64) {
	for _, v := range verbs(g) {
		r, limit := "ahead-"+v.name, b.Limit()
		for _, tok := range []fencing.Token{limit + 1, fencing.MaxToken} {
			refused(t, v, t.Context(), r, tok, fencing.ErrAhead)
			var ae *fencing.AheadError
			want := fencing.AheadError{Resource: r, Token: tok, Limit: limit}
			if err := v.call(t.Context(), r, tok); !errors.As(err, &ae) || *ae != want {
				t.Fatalf("%s(%q, %d) = %v, want a *fencing.AheadError %+v", v.name, r, uint64(tok), err, want)
			}
		}
		pass(t, v, r, 1) // a small counter, and no mark was left
		refused(t, v, t.Context(), r, limit+1, fencing.ErrAhead)
		pass(t, v, r, 2)
		pass(t, v, r, limit)
		now.Add(1)
		pass(t, v, r, limit+1)
		refused(t, v, t.Context(), r, limit+2, fencing.ErrAhead)
	}
}

// forget drops one mark and no other.
func forget(t *testing.T, g fencing.Guard) {
	want := func(resource string, known bool) {
		t.Helper()
		if got, err := g.Forget(t.Context(), resource); err != nil || got != known {
			t.Fatalf("Forget(%q) = %v, %v, want %v", resource, got, err, known)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, v := range verbs(g) {
		r := "forget-" + v.name
		want(r, false)
		pass(t, v, r, 34)
		pass(t, v, r+"-kept", 34)
		if _, err := g.Forget(ended, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("Forget with an ended context = %v, want context.Canceled", err)
		}
		stale(t, v, r, 33, 34)
		want(r, true)
		want(r, false)
		pass(t, v, r, 1)
		stale(t, v, r+"-kept", 33, 34)
	}
	for _, r := range []string{"", "a\x00b"} {
		if _, err := g.Forget(t.Context(), r); !errors.Is(err, fencing.ErrBadResource) {
			t.Fatalf("Forget(%q) = %v, want an error that wraps fencing.ErrBadResource", r, err)
		}
	}
}

// names uses easily confused names, each of which must keep its own mark.
func names(t *testing.T, g fencing.Guard) {
	all := []string{
		"a", "A", "a ", " a", "a\n", "a:b", "{a}", "{a}b", "a}", "}a", "{", "{}", "%61", "a%", "_", "*", "?", "[a]",
		"'; DROP TABLE a; --", `"a"`, `\a`, "$1", "?1", "0", "00", "é", "e\u0301", "ß", "ss", "日本", "\u00a0a",
		strings.Repeat("x", fencing.MaxResourceLen), strings.Repeat("x", fencing.MaxResourceLen-1) + "y",
	}
	for i, r := range all {
		pass(t, verbs(g)[i%2], r, fencing.Token(100+i))
	}
	for i, r := range all {
		for _, v := range verbs(g) {
			stale(t, v, r, fencing.Token(99+i), fencing.Token(100+i))
		}
	}
}

func endedContext(t *testing.T, g fencing.Guard) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, v := range verbs(g) {
		r := "ended-" + v.name
		pass(t, v, r, 10)
		refused(t, v, cancelled, r, 20, context.Canceled)
		refused(t, v, expired, r, 20, context.DeadlineExceeded)
		pass(t, v, r, 11) // the mark was not raised to 20
	}
}
