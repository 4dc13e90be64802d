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
	"sync"
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
	clock := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	hour := fencing.Bound{Ahead: time.Hour, Now: clock.read}
	for _, c := range []struct {
		name  string
		test  func(*testing.T, fencing.Guard)
		bound fencing.Bound
	}{
		{"Order", order, fencing.Bound{}},
		{"Equal", equal, fencing.Bound{}},
		{"RefusalChangesNothing", refusalChangesNothing, fencing.Bound{}},
		{"TwoVerbsOneMark", twoVerbs, fencing.Bound{}},
		{"NoToken", noToken, fencing.Bound{}},
		{"TooBig", tooBig, fencing.Bound{}},
		{"Largest", largest, fencing.Bound{Ahead: fencing.Unbounded}},
		{"Ahead", func(t *testing.T, g fencing.Guard) { ahead(t, g, hour, clock) }, hour},
		{"Forget", forget, fencing.Bound{}},
		{"BadResource", badResource, fencing.Bound{}},
		{"NamesAreBytes", names, fencing.Bound{}},
		{"EndedContext", endedContext, fencing.Bound{}},
		{"LateReaderWithoutAdmit", withoutAdmit, fencing.Bound{}},
		{"LateReaderWithAdmit", withAdmit, fencing.Bound{}},
		{"Concurrent", concurrent, fencing.Bound{}},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t, c.bound)) })
	}
}

// clock is a manual clock for a bound.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
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

func order(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "order-" + v.name
		for _, tok := range []fencing.Token{1, 2, 9, 10, 100, 1 << 32} { // 9 then 10: numbers, not text
			pass(t, v, r, tok)
			if tok > 1 {
				stale(t, v, r, tok-1, tok)
			}
		}
		stale(t, v, r, 1, 1<<32)
	}
}

func equal(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "equal-" + v.name
		for range 5 {
			pass(t, v, r, 33)
		}
		stale(t, v, r, 32, 33)
	}
}

func refusalChangesNothing(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "refusal-" + v.name
		pass(t, v, r, 10)
		stale(t, v, r, 5, 10)
		refused(t, v, t.Context(), r, 0, fencing.ErrNoToken)
		refused(t, v, t.Context(), r, fencing.MaxToken+1, fencing.ErrBadToken)
		stale(t, v, r, 9, 10)
		pass(t, v, r, 10)
		pass(t, v, r, 11)
	}
}

func twoVerbs(t *testing.T, g fencing.Guard) {
	admit, check := verbs(g)[0], verbs(g)[1]
	pass(t, admit, "r", 33)
	pass(t, check, "r", 33)
	stale(t, check, "r", 32, 33)
	pass(t, check, "r", 34) // a holder that did not announce itself
	stale(t, admit, "r", 33, 34)
	pass(t, admit, "r", 34)
}

func noToken(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "none-" + v.name
		refused(t, v, t.Context(), r, 0, fencing.ErrNoToken)
		pass(t, v, r, 1)
		refused(t, v, t.Context(), r, 0, fencing.ErrNoToken)
	}
}

func tooBig(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "big-" + v.name
		for _, tok := range []fencing.Token{fencing.MaxToken + 1, 1 << 63, 1<<64 - 1} {
			refused(t, v, t.Context(), r, tok, fencing.ErrBadToken)
		}
		pass(t, v, r, 1)
	}
}

// largest walks the last tokens one by one: a store that counts in floating
// point or in 32 bits loses them.
func largest(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		r := "largest-" + v.name
		for tok := fencing.MaxToken - 3; tok <= fencing.MaxToken; tok++ {
			pass(t, v, r, tok)
			pass(t, v, r, tok)
			stale(t, v, r, tok-1, tok)
		}
	}
}

// ahead shows tokens on both sides of the bound. A token above it leaves no mark, and
// the bound follows the clock.
func ahead(t *testing.T, g fencing.Guard, b fencing.Bound, c *clock) {
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
		c.advance(time.Microsecond)
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

func badResource(t *testing.T, g fencing.Guard) {
	for _, v := range verbs(g) {
		for _, r := range []string{"", strings.Repeat("x", fencing.MaxResourceLen+1), "a\x00b", "a\xff"} {
			refused(t, v, t.Context(), r, 1, fencing.ErrBadResource)
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

// balance is a resource behind a guard, as in the package documentation: A holds
// token 33, B token 34, both add to what they have read.
type balance struct {
	guard fencing.Guard
	value int
}

func (b *balance) write(ctx context.Context, tok fencing.Token, value int) error {
	if err := b.guard.Check(ctx, "balance", tok); err != nil {
		return err
	}
	b.value = value
	return nil
}

// withoutAdmit shows why Admit exists: checks on writes alone cannot save A's update.
func withoutAdmit(t *testing.T, g fencing.Guard) {
	b := &balance{guard: g, value: 100}
	readA := b.value
	readB := b.value
	if err := b.write(t.Context(), 33, readA+10); err != nil {
		t.Fatalf("A's late write = %v; nobody has shown 34 yet, so it must pass", err)
	}
	if err := b.write(t.Context(), 34, readB+1); err != nil {
		t.Fatalf("B's write = %v, want it to pass", err)
	}
	if b.value != 101 {
		t.Fatalf("value = %d, want 101: A's write overtaken by B's read and lost", b.value)
	}
}

func withAdmit(t *testing.T, g fencing.Guard) {
	b := &balance{guard: g, value: 100}
	admit, check := verbs(g)[0], verbs(g)[1]
	pass(t, admit, "balance", 33)
	readA := b.value
	pass(t, admit, "balance", 34) // B arrives
	readB := b.value
	if err := b.write(t.Context(), 33, readA+10); !errors.Is(err, fencing.ErrStale) {
		t.Fatalf("A's late write = %v, want ErrStale: B has been admitted", err)
	}
	if err := b.write(t.Context(), 34, readB+1); err != nil {
		t.Fatalf("B's write = %v, want it to pass", err)
	}
	if b.value != 101 {
		t.Fatalf("value = %d, want 101 and A told that its write was refused", b.value)
	}
	stale(t, check, "balance", 33, 34)
}
