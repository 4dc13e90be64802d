package kernel

import (
	"math/big"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"
)

// when is the inverse of at, to the nanosecond, and neither runs backwards or
// overflows within a month.
func TestLine(t *testing.T) {
	const month = 30 * 24 * 3600 * 1_000_000_000
	err := quick.Check(func(from, value, ahead uint64, ppm int32, shift uint8) bool {
		l := Linear{from: int64(from % month), Value: Epoch + int64(value%month), PPM: int64(ppm) % 500_001}
		d := int64(ahead%month) >> (shift % 50)
		now := l.from + d
		reading := l.At(now)
		exact := new(big.Int).Mul(big.NewInt(d), big.NewInt(l.PPM))
		exact.Div(exact, big.NewInt(Million)).Add(exact, big.NewInt(l.Value+d))
		when := l.When(reading)
		return exact.Int64() == reading && l.At(now+1) >= reading &&
			when <= now && l.At(when) >= reading && (when == l.from || l.At(when-1) < reading) &&
			l.Turn(now, 7).At(now) == reading && l.Step(now, -5).At(now) == reading-5
	}, &quick.Config{MaxCount: 20_000})
	require.NoError(t, err)

	still := Linear{from: 10, Value: 100, PPM: -Million}
	require.EqualValues(t, 100, still.At(1<<60))
	require.EqualValues(t, 10, still.When(100))
	require.EqualValues(t, Never, still.When(101))
}
