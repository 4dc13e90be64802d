package quorum

import (
	"context"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// zeros is a reader of zeros: all pauses are the shortest.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestNextExtension(t *testing.T) {
	const timeout = 100 * ms
	for name, c := range map[string]struct {
		left   time.Duration
		failed bool
		most   bool // what is drawn
		pauses time.Duration
	}{
		"at the latest after a third":           {left: 9 * time.Second, pauses: 3 * time.Second},
		"at the earliest after a sixth":         {left: 9 * time.Second, most: true, pauses: 1500 * ms},
		"brought forward, but to no less":       {left: 9003 * ms, most: true, pauses: 1500500 * time.Microsecond},
		"brought forward to the next ten":       {left: 9003 * ms, pauses: 3 * time.Second},
		"after a failure, a timeout":            {left: 9 * time.Second, failed: true, pauses: timeout},
		"after a failure, and a quarter":        {left: 8 * time.Second, failed: true, most: true, pauses: timeout + 2*time.Second},
		"after a failure, with little time":     {left: timeout, failed: true, pauses: timeout / 2},
		"after a failure, with hardly any time": {left: ms, failed: true, pauses: ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(&core{env: &env{cfg: Config{InstanceTimeout: timeout}, reader: drift.NewReader(clock.New()), random: &random{reader: zeros{}}}})
			if c.most {
				k.c.random.reader = iotest.ErrReader(context.Canceled) // then the bound is taken
			}
			require.Zero(t, k.c.reader.Now().Mono)
			require.Equal(t, c.pauses, k.nextExtension(c.left, c.failed), name)
			require.Equal(t, 4*timeout, k.patience(time.Minute), "while much is left")
			require.Equal(t, 2*timeout, k.patience(16*timeout))
			require.Equal(t, timeout, k.patience(timeout), "never less than a timeout")
		})
	}
}

// KeepAlive may be called while another goroutine is about to have the lease watched, and a lease may
// end then.
func TestKeeperBeforeALeaseIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quorumtest.NewServer("A", nil)
		s.SetIdentity(func(id *wire.Identity) { id.Vouched = true })
		c, err := New(Config{}, s)
		require.NoError(t, err)
		lease, err := c.TryAcquire(context.Background(), "k")
		require.NoError(t, err)
		c.keeper.extendAt(lease, c.reader.Now().Mono+2*time.Second)
		c.keeper.watch(lease, never)
		time.Sleep(10 * time.Second)
		require.NoError(t, lease.Err(), "it was extended")

		require.NoError(t, lease.Release(context.Background()))
		lease.entry.watched = false
		c.keeper.watch(lease, never)
		began := time.Now()
		require.NoError(t, c.Settle(context.Background()))
		require.Zero(t, time.Since(began), "nothing waits for a lease that has ended")
		require.NoError(t, c.Close(context.Background()))
	})
}
