package pace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/pace"
)

const timeout = 100 * time.Millisecond

// drawing is a Pace whose random values are that share of their bound.
func drawing(percent time.Duration) pace.Pace {
	return pace.Pace{Timeout: timeout, Jitter: func(bound time.Duration) time.Duration { return bound * percent / 100 }}
}

func TestNext(t *testing.T) {
	const now = time.Hour
	for name, c := range map[string]struct {
		left          time.Duration
		failed        bool
		percent, want time.Duration
	}{
		"at the latest after a third":           {left: 9 * time.Second, percent: 0, want: 3 * time.Second},
		"at the earliest after a sixth":         {left: 9 * time.Second, percent: 100, want: 1500 * time.Millisecond},
		"brought forward, but to no less":       {left: 9003 * time.Millisecond, percent: 100, want: 1500500 * time.Microsecond},
		"brought forward to the next ten":       {left: 9003 * time.Millisecond, percent: 0, want: 3 * time.Second},
		"after a failure, a timeout":            {left: 9 * time.Second, failed: true, percent: 0, want: timeout},
		"after a failure, and a quarter":        {left: 8 * time.Second, failed: true, percent: 100, want: timeout + 2*time.Second},
		"after a failure, with little time":     {left: timeout, failed: true, percent: 0, want: timeout / 2},
		"after a failure, with hardly any time": {left: time.Millisecond, failed: true, percent: 0, want: time.Millisecond},
	} {
		require.Equal(t, now+c.want, drawing(c.percent).Next(now, c.left, c.failed), name)
	}
}

func TestPatience(t *testing.T) {
	p := drawing(0)
	require.Equal(t, 4*timeout, p.Patience(time.Minute), "while much is left")
	require.Equal(t, 2*timeout, p.Patience(16*timeout))
	require.Equal(t, timeout, p.Patience(timeout), "never less than a timeout")
}

// A validity is checked again at its end at the latest, and rarely.
func TestLookAgain(t *testing.T) {
	require.Equal(t, 2*time.Second, pace.LookAgain(8*time.Second))
	require.Equal(t, 20*time.Millisecond, pace.LookAgain(30*time.Millisecond))
	require.Equal(t, 5*time.Millisecond, pace.LookAgain(5*time.Millisecond))
	looks := 0
	for left := 10 * time.Second; left > 0; looks++ {
		left -= pace.LookAgain(left)
	}
	require.Less(t, looks, 30)
}
