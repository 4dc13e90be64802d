package timeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No label covers another label or a line down to a moment.
func TestSettle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		labels := make([]label, random.IntN(25))
		for i := range labels {
			labels[i] = label{x: float64(random.IntN(800)), segments: []segment{{text: strings.Repeat("x", 1+random.IntN(30)), class: "s"}}}
		}
		levels := settle(labels)
		for i, a := range labels {
			if a.level >= levels {
				t.Fatalf("level %d of %d", a.level, levels)
			}
			for _, b := range labels[i+1:] {
				// If b begins below a's text, its line must not cross a.
				if b.x < a.x+a.wide() && (b.level == a.level || b.x > a.x && b.level > a.level) {
					t.Fatalf("%+v and %+v", a, b)
				}
			}
		}
	}
}

func TestAxisNeverGoesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		moments := make([]time.Duration, 1+random.IntN(200))
		for i := range moments {
			moments[i] = time.Duration(random.Int64N(int64(time.Minute) >> random.IntN(20)))
		}
		a := newAxis(moments, 5*time.Millisecond, moments[0], gutter)
		slices.Sort(moments)
		last := gutter - 1.0
		for _, m := range moments {
			x := a.x(m)
			if x < last || x > a.width {
				t.Fatalf("%v is at %v after %v, in %v", m, x, last, a.width)
			}
			last = x
		}
		assert.True(t, a.cropped || a.shows(moments[0]) && a.shows(moments[len(moments)-1]))
		assert.Less(t, a.width, mostAll+mostBusy+gutter)
	}
}

// A round trip of two milliseconds and a pause of twelve seconds are both visible.
func TestAxisKeepsShortThingsApart(t *testing.T) {
	a := newAxis([]time.Duration{0, time.Millisecond, 2 * time.Millisecond, 12 * time.Second, 12*time.Second + time.Millisecond}, 5*time.Millisecond, 0, gutter)
	require.Len(t, a.busy, 2)
	assert.Greater(t, a.x(2*time.Millisecond)-a.x(0), 50.0)
	assert.InDelta(t, breakWidth, a.x(12*time.Second)-a.x(2*time.Millisecond), 0.001)
}

func TestLengths(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 7: "7 ns", 840 * time.Microsecond: "840 µs", 1310 * time.Microsecond: "1.31 ms", 101 * time.Millisecond: "101 ms",
		9893 * time.Millisecond: "9.89 s", 12 * time.Second: "12 s", 100 * time.Second: "100 s", 3 * time.Minute: "3 min", 48 * time.Hour: "48 h", -time.Second: "-1 s",
	} {
		assert.Equal(t, want, length(d))
	}
	assert.Equal(t, "11 104.506", Clock(11104505922))
	assert.Equal(t, "0.000", Clock(0))
	assert.Equal(t, "1 000 ms", momentText(time.Second))
}

func TestTokensAreShortAndDistinct(t *testing.T) {
	tl := &Timeline{Beliefs: []belief{{Token: 1767225601001825}, {Token: 1767225601101825}, {Token: 7}}}
	name := tl.tokens()
	assert.Equal(t, "…001825", name(1767225601001825))
	assert.Equal(t, "…101825", name(1767225601101825))
	assert.Equal(t, "7", name(7))
	assert.Empty(t, name(0))
}
