package drift_test

import (
	"math"
	"math/big"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// slowOf is a second implementation of Allowance.Of, with numbers that can't overflow.
func slowOf(a drift.Allowance, ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return a.Floor
	}
	million := big.NewInt(1_000_000)
	part := new(big.Int).Mul(big.NewInt(int64(ttl)), big.NewInt(a.PPM))
	part.Add(part, big.NewInt(999_999)).Div(part, million)
	part.Add(part, big.NewInt(int64(a.Floor)))
	return clamp(part)
}

// slowValidity is a second implementation of Allowance.Validity.
func slowValidity(a drift.Allowance, ttl, elapsed time.Duration) time.Duration {
	off := new(big.Int).Add(big.NewInt(int64(max(0, elapsed))), big.NewInt(int64(slowOf(a, ttl))))
	return max(0, ttl) - clamp(off)
}

func clamp(n *big.Int) time.Duration {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(n.Int64())
}

// allowance makes a valid Allowance from any numbers.
func allowance(ppm, floor uint64) drift.Allowance {
	return drift.Allowance{PPM: int64(ppm % 500_001), Floor: time.Duration(floor % uint64(time.Hour+1))}
}

// checkAllowance compares one calculation with the second implementation and the promises in the
// comments.
func checkAllowance(t *testing.T, a drift.Allowance, ttl, elapsed time.Duration) bool {
	t.Helper()
	of, validity := a.Of(ttl), a.Validity(ttl, elapsed)
	good := assert.NoError(t, a.Validate()) &&
		assert.Equal(t, slowOf(a, ttl), of, "%+v.Of(%d)", a, ttl) &&
		assert.Equal(t, slowValidity(a, ttl, elapsed), validity, "%+v.Validity(%d, %d)", a, ttl, elapsed) &&
		assert.GreaterOrEqual(t, of, a.Floor)
	if ttl >= 0 {
		good = good && assert.LessOrEqual(t, validity, ttl)
	}
	if elapsed >= max(0, ttl) {
		good = good && assert.LessOrEqual(t, validity, time.Duration(0), "the time is over")
	}
	return good
}

func TestAllowanceAgainstBigNumbers(t *testing.T) {
	// Half of the numbers have random magnitudes, because most uniform ones are longer than a
	// century.
	err := quick.Check(func(ppm, floor uint64, ttl, elapsed int64, shift, shift2 uint8) bool {
		a := allowance(ppm, floor)
		return checkAllowance(t, a, time.Duration(ttl), time.Duration(elapsed)) &&
			checkAllowance(t, a, time.Duration(ttl>>(shift%64)), time.Duration(elapsed>>(shift2%64)))
	}, &quick.Config{MaxCount: 20_000})
	require.NoError(t, err)
}

func FuzzAllowance(f *testing.F) {
	f.Add(uint64(10_000), uint64(2*time.Millisecond), int64(10*time.Second), int64(time.Second))
	f.Add(uint64(500_000), uint64(time.Hour), int64(math.MaxInt64), int64(math.MaxInt64))
	f.Add(uint64(0), uint64(0), int64(math.MinInt64), int64(math.MinInt64))
	f.Add(uint64(1), uint64(1), int64(-1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, ppm, floor uint64, ttl, elapsed int64) {
		checkAllowance(t, allowance(ppm, floor), time.Duration(ttl), time.Duration(elapsed))
	})
}

func TestAllowanceOf(t *testing.T) {
	cases := map[string]struct {
		a    drift.Allowance
		ttl  time.Duration
		want time.Duration
	}{
		"the Redis document's":               {drift.Default(), 10 * time.Second, 102 * time.Millisecond},
		"nothing off":                        {drift.Allowance{}, 10 * time.Second, 0},
		"the floor alone":                    {drift.Allowance{Floor: 7}, 10 * time.Second, 7},
		"no ttl":                             {drift.Default(), 0, 2 * time.Millisecond},
		"a ttl below zero":                   {drift.Default(), -time.Hour, 2 * time.Millisecond},
		"rounded up from almost nothing":     {drift.Allowance{PPM: 1}, 1, 1},
		"exact, so not rounded":              {drift.Allowance{PPM: 1}, 1_000_000, 1},
		"rounded up from just above":         {drift.Allowance{PPM: 1}, 1_000_001, 2},
		"a ttl of which ttl*PPM would wrap":  {drift.Allowance{PPM: 10_000}, 30 * 24 * time.Hour, 7*time.Hour + 12*time.Minute},
		"the longest ttl":                    {drift.Allowance{PPM: 500_000}, math.MaxInt64, math.MaxInt64/2 + 1},
		"the longest ttl and the largest of": {drift.Allowance{PPM: 500_000, Floor: time.Hour}, math.MaxInt64, math.MaxInt64/2 + 1 + time.Hour},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, c.a.Of(c.ttl))
		})
	}
}

func TestAllowanceValidate(t *testing.T) {
	good := []drift.Allowance{{}, drift.Default(), {PPM: 500_000}, {Floor: time.Hour}, {PPM: 1, Floor: 1}}
	for _, a := range good {
		assert.NoError(t, a.Validate(), "%+v", a)
	}
	bad := map[string]drift.Allowance{
		"drift: PPM is -1, want 0 to 500000 (10000 is one hundredth)":     {PPM: -1},
		"drift: PPM is 500001, want 0 to 500000 (10000 is one hundredth)": {PPM: 500_001},
		"drift: Floor is -1ns, want 0 to 1h":                              {Floor: -1},
		"drift: Floor is 1h0m0.000000001s, want 0 to 1h":                  {Floor: time.Hour + 1},
	}
	for want, a := range bad {
		assert.EqualError(t, a.Validate(), want)
	}
}

// Scenario S6. With a rate error of r on both sides, the client's clock slow and
// the instance's fast, a key with the given ttl is gone after ttl/(1+r) of true
// time, while a holder that counts validity holds it for validity/(1-r).
func TestAllowanceCoversRates(t *testing.T) {
	safe := func(validity, ttl time.Duration, ppm int64) bool {
		slow, fast := big.NewRat(1_000_000-ppm, 1_000_000), big.NewRat(1_000_000+ppm, 1_000_000)
		held := new(big.Rat).Quo(big.NewRat(int64(validity), 1), slow)
		lives := new(big.Rat).Quo(big.NewRat(int64(ttl), 1), fast)
		return held.Cmp(lives) <= 0
	}
	onePercent := drift.Allowance{PPM: 10_000}
	cases := []struct {
		name string
		a    drift.Allowance
		ttl  time.Duration
		rate int64 // the largest error that is safe
	}{
		{"a hundredth, short", onePercent, time.Second, 5025},
		{"a hundredth", onePercent, 10 * time.Second, 5025},
		{"a hundredth, long", onePercent, 24 * time.Hour, 5025},
		{"the default: the floor helps a short ttl", drift.Default(), time.Second, 6036},
		{"the default, 10 s", drift.Default(), 10 * time.Second, 5126},
		{"the default: a long ttl has no use of the floor", drift.Default(), time.Hour, 5025},
		{"no allowance", drift.Allowance{}, 10 * time.Second, 0},
		{"enough for chrony's fastest slew", drift.Allowance{PPM: 153_847}, 10 * time.Second, 83_333},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			validity := c.a.Validity(c.ttl, 0)
			assert.True(t, safe(validity, c.ttl, c.rate), "%d ppm is covered", c.rate)
			assert.False(t, safe(validity, c.ttl, c.rate+1), "%d ppm is not", c.rate+1)
		})
	}
	t.Run("chrony's fastest slew against the default", func(t *testing.T) {
		assert.False(t, safe(drift.Default().Validity(10*time.Second, 0), 10*time.Second, 83_333))
	})
}
