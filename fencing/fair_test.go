package fencing_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

// TestLargerTokenGoesFirst: a holder that writes back to back, from several goroutines, cannot keep
// a later holder out: when the current write ends, the later holder is next.
func TestLargerTokenGoesFirst(t *testing.T) {
	for _, admit := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var m fencing.Memory
			ctx := t.Context()
			for range 3 {
				go func() {
					for range 30 { // far longer than the newcomer waits
						_ = m.Write(ctx, "r", 7, func() error { time.Sleep(time.Second); return nil })
					}
				}()
			}
			synctest.Wait() // one write is in progress, two wait
			began := time.Now()
			short, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if admit {
				require.NoError(t, m.Admit(short, "r", 8))
			} else {
				require.NoError(t, m.Write(short, "r", 8, func() error { return nil }))
			}
			assert.Equal(t, time.Second, time.Since(began), "one write, and no more")
			synctest.Wait()
			assert.ErrorIs(t, m.Check(ctx, "r", 7), fencing.ErrStale)
		})
	}
}
