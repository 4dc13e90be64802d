package drift

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stepped is what time.Now returns when mono has passed on the monotonic clock since t, and wall on
// the wall clock. Package time can't express that, so it sets the monotonic reading in the fields
// of time.Time.
func stepped(t *testing.T, from time.Time, mono, wall time.Duration) time.Time {
	t.Helper()
	type parts struct {
		wall uint64
		mono int64
		loc  *time.Location
	}
	require.Equal(t, unsafe.Sizeof(parts{}), unsafe.Sizeof(from))
	to := from.Add(wall)
	(*parts)(unsafe.Pointer(&to)).mono += int64(mono - wall)
	require.Equal(t, mono, to.Sub(from), "the monotonic clock")
	require.Equal(t, wall, to.Round(0).Sub(from.Round(0)), "the wall clock")
	return to
}

// The Reader of the machine's own clocks sees a step of the wall clock, and a suspension, in which
// only the wall clock continues.
func TestTheMachinesWallClockIsSeen(t *testing.T) {
	r := SystemReader()
	for name, c := range map[string]struct{ mono, wall, want time.Duration }{
		"both go on":      {time.Second, time.Second, time.Second},
		"stepped forward": {time.Second, time.Hour, time.Hour},
		"stepped back":    {time.Second, -time.Hour, time.Second},
		"suspended":       {time.Second, time.Minute, time.Minute},
	} {
		from, to := r.split(r.base), r.split(stepped(t, r.base, c.mono, c.wall))
		assert.Equal(t, c.mono, to.Mono-from.Mono, name)
		assert.Equal(t, c.wall, to.Wall.Sub(from.Wall), name)
		assert.Equal(t, c.want, Elapsed(from, to), name)
	}
	first := r.Now()
	second := r.Now()
	assert.GreaterOrEqual(t, second.Mono, first.Mono)
	assert.NotContains(t, second.Wall.String(), "m=")
}
