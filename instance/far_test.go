//go:build unix

package instance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// TestOwnVotesDontRefuse: a client whose rounds are all lost, because the answers come too late, isn't refused by what
// they have set: whatever of it is still there is deleted in front of the next SET. Once the servers answer in time
// the next try has the lock, though its counters are apart.
func TestOwnVotesDontRefuse(t *testing.T) {
	t.Parallel()
	const ttl = 20 * time.Second // so that nothing ends on its own
	var links []*redisproc.Link
	var instances []wire.Instance
	for i, s := range instancetest.StartN(t, 3, instancetest.Config{}) {
		link, err := redisproc.NewLink(s.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, link.Close()) })
		runID, err := s.Ask("INFO", "server")
		require.NoError(t, err)
		one, err := instance.Open("redis://"+link.Addr(), instance.Config{Name: fmt.Sprint("server ", i+1), FixedAddress: true, VouchedRunID: runIDIn(runID)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, one.Close()) })
		links, instances = append(links, link), append(instances, one)
	}
	var refused atomic.Int64
	cfg := quorum.Config{TTL: ttl, MaxTTL: ttl, InstanceTimeout: 50 * time.Millisecond}
	cfg.Hooks.Waiting = func(context.Context, quorum.WaitEvent) {}
	c, err := quorum.New(cfg, instances...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	require.Eventually(t, func() bool { return c.Trust(t.Context()) == nil }, time.Minute, time.Millisecond)
	try := func() *quorum.Lease {
		lease, err := c.TryAcquire(t.Context(), "mine")
		if lost, ok := errors.AsType[*quorum.RoundError](err); ok {
			for _, ballot := range lost.Votes {
				if ballot.Vote.Outcome == wire.Refused {
					refused.Add(1)
				}
			}
		}
		return lease
	}
	for n := range 6 {
		for i, l := range links {
			if i != n%3 { // so that the counters don't stay together
				l.Hold(redisproc.Replies)
			}
			if i == (n+1)%3 {
				l.Hold(redisproc.Requests)
			}
		}
		require.Nil(t, try())
		for _, l := range links {
			l.Reopen()
		}
	}
	// On a busy machine an answer may still come late.
	require.Eventually(t, func() bool {
		lease := try()
		if lease != nil {
			_ = lease.Release(t.Context())
		}
		return lease != nil
	}, time.Minute, time.Millisecond)
	require.Zero(t, refused.Load(), "by own values")
}

func runIDIn(info string) (id string) {
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "run_id:"); ok {
			id = strings.TrimSpace(rest)
		}
	}
	return id
}
