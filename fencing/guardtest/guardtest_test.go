package guardtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

// flawed is a guard with one fault: see answers for both of its methods.
type flawed struct {
	bound fencing.Bound
	mu    sync.Mutex
	marks map[string]fencing.Token
	see   func(f *flawed, ctx context.Context, r string, t fencing.Token) error
	admit func(f *flawed, ctx context.Context, r string, t fencing.Token) error // nil: as see
	loses func(f *flawed, ctx context.Context, r string) (bool, error)          // nil: as forget
}

func (f *flawed) Admit(ctx context.Context, r string, t fencing.Token) error {
	if f.admit != nil {
		return f.admit(f, ctx, r, t)
	}
	return f.see(f, ctx, r, t)
}

func (f *flawed) Check(ctx context.Context, r string, t fencing.Token) error {
	return f.see(f, ctx, r, t)
}

func (f *flawed) Forget(ctx context.Context, r string) (bool, error) {
	if f.loses != nil {
		return f.loses(f, ctx, r)
	}
	return f.forget(ctx, r)
}

func (f *flawed) forget(ctx context.Context, r string) (bool, error) {
	if err := fencing.Validate(r, 1); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.marks[r]
	delete(f.marks, r)
	return known, nil
}

func (f *flawed) right(ctx context.Context, r string, t fencing.Token) error {
	if err := f.bound.Check(r, t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.marks[r]; t < h {
		return &fencing.StaleError{Resource: r, Token: t, Highest: h}
	}
	f.marks[r] = t
	return nil
}

func (f *flawed) mark(r string) fencing.Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marks[r]
}

func (f *flawed) raise(r string, t fencing.Token) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks[r] = t
}

// Of the fault in two steps: whether a call waits between them, and how many calls have passed it by.
var (
	paused     atomic.Bool
	overtakers atomic.Int64
)

// faults maps a fault to the subtest that must find it.
var faults = map[string]struct {
	foundBy string
	guard   *flawed
}{
	"none": {"", &flawed{see: (*flawed).right}},
	"passes everything": {"Order", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		return nil
	}}},
	"refuses equal": {"Order", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if h := f.mark(r); h != 0 && t == h {
			return &fencing.StaleError{Resource: r, Token: t, Highest: h}
		}
		return f.right(ctx, r, t)
	}}},
	"drops the mark when it refuses": {"Refusals", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		err := f.right(ctx, r, t)
		if err != nil && t < f.mark(r) && t != 0 {
			f.raise(r, t)
		}
		return err
	}}},
	"admit leaves no mark": {"TwoVerbsOneMark", &flawed{
		see: (*flawed).right,
		admit: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
			if f.mark(r) > t {
				return f.right(ctx, r, t)
			}
			return fencing.Validate(r, t)
		},
	}},
	"takes the zero token": {"Refusals", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if t == 0 {
			return nil
		}
		return f.right(ctx, r, t)
	}}},
	"takes any size": {"Refusals", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if t > fencing.MaxToken {
			return nil
		}
		return f.right(ctx, r, t)
	}}},
	"counts in 32 bits": {"Order", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if t > 1<<40 && f.mark(r) > t {
			return nil
		}
		return f.right(ctx, r, t)
	}}},
	"believes every token": {"Ahead", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		err := f.right(ctx, r, t)
		if errors.Is(err, fencing.ErrAhead) {
			f.raise(r, t)
			return nil
		}
		return err
	}}},
	"calls a token from ahead stale": {"Ahead", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		err := f.right(ctx, r, t)
		if errors.Is(err, fencing.ErrAhead) {
			return &fencing.StaleError{Resource: r, Token: t, Highest: t + 1}
		}
		return err
	}}},
	"keeps the mark of a token from ahead": {"Ahead", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		err := f.right(ctx, r, t)
		if errors.Is(err, fencing.ErrAhead) {
			f.raise(r, t)
		}
		return err
	}}},
	"forgets nothing": {"Forget", &flawed{see: (*flawed).right, loses: func(f *flawed, ctx context.Context, r string) (bool, error) {
		return f.mark(r) != 0, ctx.Err()
	}}},
	"forgets everything": {"Forget", &flawed{see: (*flawed).right, loses: func(f *flawed, ctx context.Context, r string) (bool, error) {
		known, err := f.forget(ctx, r)
		if err == nil && known {
			clear(f.marks)
		}
		return known, err
	}}},
	"folds case": {"NamesAreBytes", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		return f.right(ctx, strings.ToLower(r), t)
	}}},
	"takes the empty name": {"Refusals", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if r == "" {
			return nil
		}
		return f.right(ctx, r, t)
	}}},
	"does not look at the context": {"EndedContext", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		return f.right(context.WithoutCancel(ctx), r, t)
	}}},
	"raises the mark for an ended context": {"EndedContext", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if err := f.right(context.WithoutCancel(ctx), r, t); err != nil {
			return err
		}
		return ctx.Err()
	}}},
	"compares and raises in two steps": {"Concurrent", &flawed{see: func(f *flawed, ctx context.Context, r string, t fencing.Token) error {
		if err := fencing.Validate(r, t); err != nil || ctx.Err() != nil {
			return f.right(ctx, r, t)
		}
		h := f.mark(r)
		// The first call of concurrent waits between its comparison and its write until the other
		// goroutines have made all of their calls. Then it takes the mark below theirs, which its own
		// goroutine's other calls see.
		first := r == "concurrent" && paused.CompareAndSwap(false, true)
		if !first && r == "concurrent" {
			defer overtakers.Add(1)
		}
		if t < h {
			return &fencing.StaleError{Resource: r, Token: t, Highest: h}
		}
		for first && overtakers.Load() < (workers-1)*calls {
			runtime.Gosched()
		}
		f.raise(r, t)
		return nil
	}}},
}

// TestFaultsAreFound runs the contract on flawed guards, and requires the subtest named above to
// fail. Each runs in its own process, because it has to fail there.
func TestFaultsAreFound(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for fault, want := range faults {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestOneFault$", "-test.v")
			cmd.Env = append(os.Environ(), "GUARDTEST_FAULT="+fault)
			out, err := cmd.CombinedOutput()
			if want.foundBy == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			var failed *exec.ExitError
			require.ErrorAs(t, err, &failed, "%s", out)
			assert.Contains(t, string(out), "--- FAIL: TestOneFault/"+want.foundBy)
		})
	}
}

func TestOneFault(t *testing.T) {
	fault, ok := os.LookupEnv("GUARDTEST_FAULT")
	if !ok {
		t.Skip("runs in the processes that TestFaultsAreFound starts")
	}
	Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard {
		f := faults[fault].guard
		return &flawed{bound: b, marks: map[string]fencing.Token{}, see: f.see, admit: f.admit, loses: f.loses}
	})
}
