package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Time goes to the right, and two moments are never on top of each other.
func TestAxis(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		moments := make([]time.Duration, 1+random.IntN(200))
		for i := range moments {
			moments[i] = time.Duration(random.Int64N(int64(time.Minute) >> random.IntN(20)))
		}
		a := newAxis(moments, 0, time.Minute)
		least := min(3, (right-left)/4/float64(len(moments)+1))
		moments = slices.Compact(slices.Sorted(slices.Values(moments)))
		last := 0.0
		for _, m := range moments {
			assert.GreaterOrEqual(t, a.x(m), last+least-0.001, "%v in %v", m, moments)
			last = a.x(m)
		}
		assert.LessOrEqual(t, last, float64(right))
	}
	a := newAxis(nil, time.Second, 3*time.Second)
	assert.Equal(t, [3]float64{left, (left + right) / 2, right}, [3]float64{a.x(0), a.x(2 * time.Second), a.x(time.Minute)})
	assert.True(t, a.shows(time.Second) && !a.shows(4*time.Second) && a.overlaps(0, time.Minute))
}

func TestLengths(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 7: "7 ns", 840 * time.Microsecond: "840 µs", 1310 * time.Microsecond: "1.31 ms", 101 * time.Millisecond: "101 ms",
		9893 * time.Millisecond: "9.89 s", 12 * time.Second: "12 s", 100 * time.Second: "100 s", 3 * time.Minute: "3 min", 48 * time.Hour: "48 h", -time.Second: "-1 s",
	} {
		assert.Equal(t, want, length(d))
	}
	assert.Equal(t, "11 104.506 ms", Clock(11104505922))
}
