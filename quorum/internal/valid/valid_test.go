package valid_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/valid"
	"github.com/redquorum/redlock/quorum/wire"
)

func refused(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, wire.ErrConfig)
	require.ErrorContains(t, err, says)
}

func TestKey(t *testing.T) {
	require.NoError(t, valid.Key("orders/42 ü", 12), "of twelve bytes")
	refused(t, valid.Key("", 12), "empty")
	refused(t, valid.Key("orders/42 üü", 12), "14 bytes, at most 12")
	for _, key := range []string{"a{b", "a}b", "a\x00b"} {
		refused(t, valid.Key(key, 12), "at byte 1")
	}
}

func TestOwner(t *testing.T) {
	require.NoError(t, valid.Owner("", 8))
	require.NoError(t, valid.Owner("worker-7", 8))
	refused(t, valid.Owner("worker-10", 8), "9 bytes, at most 8")
	for _, owner := range []string{"a b", "a\n", "ü", "\x7f"} {
		refused(t, valid.Owner(owner, 8), "printable ASCII")
	}
}

func TestMillis(t *testing.T) {
	require.NoError(t, valid.Millis("TTL", time.Millisecond))
	require.NoError(t, valid.Millis("TTL", 10*365*24*time.Hour))
	for d, says := range map[time.Duration]string{
		-time.Second: "at least", 0: "at least", 999 * time.Microsecond: "at least",
		1501 * time.Microsecond: "such as 2ms", 10*365*24*time.Hour + time.Millisecond: "ten years", math.MaxInt64: "TTL is",
	} {
		refused(t, valid.Millis("TTL", d), says)
	}
}

func TestNote(t *testing.T) {
	require.NoError(t, valid.Note("", 8))
	require.NoError(t, valid.Note("3 of 7 ü", 9), "of nine bytes")
	refused(t, valid.Note("3 of 7 ü", 8), "9 bytes, at most 8")
	for _, note := range []string{"a\n", "a\x00", "a\x7f", "a\xff", "a\u202e", "a\u2028"} {
		refused(t, valid.Note(note, 8), "at byte 1")
	}
}
