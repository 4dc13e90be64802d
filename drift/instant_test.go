package drift_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// twoClocks is a Clock whose monotonic and wall parts move independently.
type twoClocks struct {
	mono time.Duration
	wall time.Time
	base time.Time     // what Now gave first
	at   time.Duration // mono at that moment
}

func newTwoClocks() *twoClocks { return &twoClocks{wall: time.Unix(1_700_000_000, 0)} }

func (c *twoClocks) Now() time.Time {
	if c.base.IsZero() {
		c.base, c.at = c.wall, c.mono
	}
	return c.wall
}

func (c *twoClocks) Since(t time.Time) time.Duration {
	if t != c.base {
		panic("Since of a moment that wasn't the first")
	}
	return c.mono - c.at
}

// move advances both clocks, each by its own amount.
func (c *twoClocks) move(mono, wall time.Duration) {
	c.mono += mono
	c.wall = c.wall.Add(wall)
}

func TestElapsedIsTheLargerOfBothClocks(t *testing.T) {
	cases := map[string]struct{ mono, wall, want time.Duration }{
		"both agree":                            {time.Second, time.Second, time.Second},
		"nothing passed":                        {0, 0, 0},
		"suspended: monotonic time stood still": {time.Second, time.Minute, time.Minute},
		"wall clock stepped back":               {time.Second, -time.Hour, time.Second},
		"wall clock stepped forward":            {time.Second, time.Hour, time.Hour},
		"stepped back while suspended":          {0, -time.Hour, 0},
		"stepped back by less than it slept":    {time.Second, 10 * time.Second, 10 * time.Second},
		"the finest difference, monotonic":      {2, 1, 2},
		"the finest difference, wall":           {1, 2, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := newTwoClocks()
			clock.move(time.Hour, time.Minute) // the base is any moment
			reader := drift.NewReader(clock)
			clock.move(3*time.Second, 5*time.Second)
			from := reader.Now()
			assert.Equal(t, 3*time.Second, from.Mono)
			clock.move(c.mono, c.wall)
			to := reader.Now()
			assert.Equal(t, 3*time.Second+c.mono, to.Mono)
			assert.True(t, to.Wall.Equal(clock.wall))
			assert.Equal(t, c.want, drift.Elapsed(from, to))
		})
	}
}

// machine is the real clock.
type machine struct{}

func (machine) Now() time.Time                  { return time.Now() }
func (machine) Since(t time.Time) time.Duration { return time.Since(t) }

func TestReaderOnTheRealClock(t *testing.T) {
	reader := drift.NewReader(machine{})
	now := reader.Now()
	require.Contains(t, time.Now().String(), "m=", "the machine's times have a monotonic reading")
	// With a monotonic reading, Sub would compare that, and a suspension would go unnoticed.
	assert.NotContains(t, now.Wall.String(), "m=")
	assert.Equal(t, now.Wall.Round(0), now.Wall)
	assert.GreaterOrEqual(t, now.Mono, time.Duration(0))

	synctest.Test(t, func(t *testing.T) {
		reader := drift.NewReader(machine{})
		from := reader.Now()
		time.Sleep(3 * time.Second)
		to := reader.Now()
		assert.Equal(t, 3*time.Second, to.Mono)
		assert.Equal(t, 3*time.Second, to.Wall.Sub(from.Wall))
		assert.Equal(t, 3*time.Second, drift.Elapsed(from, to))
	})
}
