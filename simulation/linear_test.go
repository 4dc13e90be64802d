package simulation

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
		l := linear{from: int64(from % month), value: epoch + int64(value%month), ppm: int64(ppm) % 500_001}
		d := int64(ahead%month) >> (shift % 50)
		now := l.from + d
		reading := l.at(now)
		exact := new(big.Int).Mul(big.NewInt(d), big.NewInt(l.ppm))
		exact.Div(exact, big.NewInt(million)).Add(exact, big.NewInt(l.value+d))
		when := l.when(reading)
		return exact.Int64() == reading && l.at(now+1) >= reading &&
			when <= now && l.at(when) >= reading && (when == l.from || l.at(when-1) < reading) &&
			l.turn(now, 7).at(now) == reading && l.step(now, -5).at(now) == reading-5
	}, &quick.Config{MaxCount: 20_000})
	require.NoError(t, err)

	still := linear{from: 10, value: 100, ppm: -million}
	require.EqualValues(t, 100, still.at(1<<60))
	require.EqualValues(t, 10, still.when(100))
	require.EqualValues(t, never, still.when(101))
}
