package fencing_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/guardtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryContract(t *testing.T) {
	guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard { return newMemory(t, fencing.MemoryConfig{Bound: b}) })
}

func newMemory(t *testing.T, c fencing.MemoryConfig) *fencing.Memory {
	t.Helper()
	m, err := fencing.NewMemory(c)
	require.NoError(t, err)
	return m
}

// TestMemoryContractByWrite: the check inside Write keeps the same contract.
func TestMemoryContractByWrite(t *testing.T) {
	guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard {
		return byWrite{newMemory(t, fencing.MemoryConfig{Bound: b})}
	})
}

type byWrite struct{ *fencing.Memory }

func (g byWrite) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.Write(ctx, resource, t, func() error { return nil })
}

func TestWriteNil(t *testing.T) {
	var m fencing.Memory
	assert.ErrorContains(t, m.Write(t.Context(), "r", 34, nil), `"r"`)
	assert.Zero(t, m.Len(), "nothing was shown")
}

func TestNilMemory(t *testing.T) {
	var m *fencing.Memory
	assert.ErrorContains(t, m.Admit(t.Context(), "r", 34), "is nil")
	highest, known := m.Highest("r")
	assert.Zero(t, highest)
	assert.False(t, known)
	assert.Zero(t, m.Len())
}

// TestWriteFails: the write's error is returned unchanged, the mark stays, and the resource is free
// again, also after a panic.
func TestWriteFails(t *testing.T) {
	var m fencing.Memory
	ctx := t.Context()
	broken := errors.New("disk full")
	assert.Same(t, broken, m.Write(ctx, "r", 33, func() error { return broken }))
	assert.PanicsWithValue(t, "boom", func() { _ = m.Write(ctx, "r", 34, func() error { panic("boom") }) })
	highest, ok := m.Highest("r")
	assert.True(t, ok)
	assert.Equal(t, fencing.Token(34), highest)
	assert.NoError(t, m.Admit(ctx, "r", 35))
}

// TestAdmitWaitsForWrite: a larger token is not admitted while a smaller one is
// still writing; the rest need not wait.
func TestAdmitWaitsForWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fencing.Memory
		ctx := t.Context()
		written, admitted := 0, false
		go func() {
			assert.NoError(t, m.Write(ctx, "r", 33, func() error {
				assert.NoError(t, m.Check(ctx, "r", 33), "a holder may check again while it writes")
				time.Sleep(time.Second)
				written++
				return nil
			}))
		}()
		synctest.Wait() // 33 is writing
		go func() {
			assert.NoError(t, m.Admit(ctx, "r", 34))
			assert.Equal(t, 1, written, "34 must find what 33 wrote")
			admitted = true
		}()
		synctest.Wait()
		assert.False(t, admitted)
		assert.ErrorIs(t, m.Check(ctx, "r", 32), fencing.ErrStale, "refused without waiting")
		assert.NoError(t, m.Check(ctx, "other", 1), "another resource does not wait")

		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, m.Admit(short, "r", 99), context.DeadlineExceeded)
		highest, _ := m.Highest("r")
		assert.Equal(t, fencing.Token(33), highest, "giving up changes nothing")

		time.Sleep(time.Second)
		synctest.Wait()
		assert.True(t, admitted)
		assert.ErrorIs(t, m.Write(ctx, "r", 33, func() error { return nil }), fencing.ErrStale)
	})
}

// TestWritesExcludeEachOther: writers of one token and of rising ones never
// overlap, and no write of a smaller token follows one of a larger.
func TestWritesExcludeEachOther(t *testing.T) {
	var (
		m      fencing.Memory
		inside atomic.Int32
		last   fencing.Token // written inside Write only: the race detector watches it
		passed int
		wg     sync.WaitGroup
	)
	for w := range 8 {
		wg.Go(func() {
			for i := range 200 {
				tok := fencing.Token(1 + i/2 + w%2)
				err := m.Write(t.Context(), "r", tok, func() error {
					assert.EqualValues(t, 1, inside.Add(1))
					assert.LessOrEqual(t, last, tok)
					last = tok
					passed++
					inside.Add(-1)
					return nil
				})
				if err != nil {
					assert.ErrorIs(t, err, fencing.ErrStale)
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, fencing.Token(101), last)
	assert.Positive(t, passed)
}

func TestForgetWaitsForWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fencing.Memory
		done := false
		go func() {
			_ = m.Write(t.Context(), "r", 33, func() error { time.Sleep(time.Second); done = true; return nil })
		}()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := m.Forget(short, "r")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		known, err := m.Forget(t.Context(), "r")
		assert.NoError(t, err)
		assert.True(t, known && done)
	})
}

// TestForgetGoesFirst: an operator need not wait for a gap between writes, and the waiting calls
// are decided again.
func TestForgetGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fencing.Memory
		ctx := t.Context()
		var wrote atomic.Int32
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				assert.NoError(t, m.Write(ctx, "r", 33, func() error { time.Sleep(time.Second); wrote.Add(1); return nil }))
			})
		}
		synctest.Wait()
		known, err := m.Forget(ctx, "r")
		require.NoError(t, err)
		assert.True(t, known)
		assert.EqualValues(t, 1, wrote.Load(), "one write was under way, four wait")
		wg.Wait()
		assert.EqualValues(t, 5, wrote.Load())
		highest, _ := m.Highest("r")
		assert.Equal(t, fencing.Token(33), highest, "shown again by those that waited")
	})
}

// TestNoMarkForNobody: a call that gives up leaves no mark, even if the mark that it waited for was
// deleted meanwhile.
func TestNoMarkForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m fencing.Memory
		go func() { _ = m.Write(t.Context(), "r", 33, func() error { time.Sleep(time.Second); return nil }) }()
		synctest.Wait()
		go func() { _, _ = m.Forget(t.Context(), "r") }()
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, m.Admit(short, "r", 34), context.DeadlineExceeded)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Zero(t, m.Len())
	})
}

func TestMemoryConfig(t *testing.T) {
	for says, c := range map[string]fencing.MemoryConfig{
		"MemoryConfig.Limit is -1": {Limit: -1},
		"Bound.Ahead is -1s":       {Bound: fencing.Bound{Ahead: -time.Second}},
	} {
		_, err := fencing.NewMemory(c)
		assert.ErrorContains(t, err, says)
	}
	var none *fencing.Memory
	assert.ErrorContains(t, none.Check(t.Context(), "r", 1), "NewMemory")
}

func TestLimit(t *testing.T) {
	m := newMemory(t, fencing.MemoryConfig{Limit: 2})
	ctx := t.Context()
	require.NoError(t, m.Check(ctx, "a", 1))
	require.NoError(t, m.Check(ctx, "b", 1))
	assert.ErrorIs(t, m.Check(ctx, "c", 1), fencing.ErrFull)
	assert.NoError(t, m.Check(ctx, "a", 2), "a known resource is served")
	_, err := m.Forget(ctx, "b")
	require.NoError(t, err)
	assert.NoError(t, m.Check(ctx, "c", 1))
	assert.Equal(t, 2, m.Len())
}
