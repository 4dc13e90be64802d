package simulation

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/fault"
)

// lockedBuffer is a strings.Builder for two goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestWatchdogShowsWhatSpins(t *testing.T) {
	w := &world{}
	w.Seed = 42
	var out lockedBuffer
	stop := w.watch(time.Millisecond, &out)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "TestWatchdogShowsWhatSpins") }, 10*time.Second, time.Millisecond)
	stop()
	assert.Contains(t, out.String(), "seed 42: no step for 1ms")
}

// A command can play runs as a test can, with the same outcome.
func TestOutsideOfGoTest(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a command")
	}
	out, err := exec.Command("go", "run", "./testdata/command").CombinedOutput()
	require.NoError(t, err, "%s", out)
	r, err := Run(5, Config{}, Schedule{{Kind: fault.Crash, Process: "c1", Nth: 8}}, func(c *Client) {
		if lease, err := c.TryAcquire("k"); err == nil {
			_ = c.Release(lease)
		}
	})
	require.NoError(t, err)
	require.Empty(t, r.Log.Violations())
	assert.Equal(t, r.Log.Digest(), strings.TrimSpace(string(out)))
}
