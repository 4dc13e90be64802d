//go:build unix

package instance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
)

// D and F know S1 under a name. The name leads F to S2, where it gets a lease, and back to S1. F
// probes S1, and then D, which sent nothing meanwhile, asks for the same lock there.
func TestEvidenceOfVotes(t *testing.T) {
	for _, kind := range []string{"control", "S1 can't write at F's first probe"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			off := func(c *quorum.Config) { c.ClockMonitor = quorum.Off }
			patiently(t, 2*time.Second, func(story *story) {
				s := instancetest.StartN(t, 2, instancetest.Config{})
				link, err := redisproc.NewLink(s[0].Addr())
				require.NoError(t, err)
				t.Cleanup(func() { _ = link.Close() })
				d := starting(t, story.ttl, off, named(t, "x", s[0].Addr()))
				_, _ = d.Verify(t.Context())
				f := knowing(t, story.ttl, off, named(t, "x", link.Addr()))
				l, err := d.Acquire(t.Context(), "k")
				require.NoError(t, err)
				d.release(t, l)
				switched := time.Now()
				link.Switch(s[1].Addr())
				time.Sleep(400 * time.Millisecond)
				_, _ = f.TryAcquire(t.Context(), "other")
				_, err = f.TryAcquire(t.Context(), "other")
				story.quarantined(err, switched)
				time.Sleep(story.ttl + time.Second)
				held, err := f.TryAcquire(t.Context(), "k")
				require.NoError(t, err)

				if kind == "S1 can't write at F's first probe" {
					s[0].MustAsk("CONFIG", "SET", "min-replicas-to-write", "1")
				}
				link.Switch(s[0].Addr())
				time.Sleep(400 * time.Millisecond)
				_, err = f.TryAcquire(t.Context(), "other")
				story.holds(held)
				require.Error(t, err)
				_, err = f.Verify(t.Context())
				story.excluded(err, held)
				s[0].MustAsk("CONFIG", "SET", "min-replicas-to-write", "0")
				_, err = f.Verify(t.Context())
				story.excluded(err, held)

				for range 2 {
					_, err := d.TryAcquire(t.Context(), "k")
					if err == nil {
						require.Zero(t, held.Validity(), "two leases at once")
						story.late()
					}
					t.Log(err)
				}
			})
		})
	}
}
