package kernel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Timers that are set in one step for one moment fire in one event. Any order between them would be that of the
// goroutines that set them.
func TestTimersOfOneMomentFireTogether(t *testing.T) {
	var k Kernel
	var p Process
	p.Init(&k, 0, "c1", nil)
	timers := []<-chan time.Time{p.After(time.Second), p.After(time.Second), p.After(time.Second)}
	k.Settle()
	e, ok := k.Next()
	require.True(t, ok)
	k.Now.Store(e.At)
	e.Do()
	for _, timer := range timers {
		require.Len(t, timer, 1)
	}
	_, ok = k.Next()
	require.False(t, ok)
}
