package simulation

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
