package quorumotel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
)

func TestLeasesAreBounded(t *testing.T) {
	l := newLeases()
	now := time.Unix(1_700_000_000, 0)
	most := 0
	for i := range 100_000 {
		l.hold(quorum.LeaseEvent{Key: "k", Token: fencing.Token(i + 1), Validity: time.Second}, now)
		most = max(most, len(l.known))
		now = now.Add(100 * time.Millisecond)
	}
	// 61 s of leases, ten a second, and as many again until it looks.
	assert.LessOrEqual(t, most, 2*611+1, "nobody read the metrics")
	assert.NotEmpty(t, l.known)
	assert.Empty(t, l.held(now.Add(time.Hour)))
	assert.Empty(t, l.known, "no more leases, and the metrics are read")
}

func TestLeasesThatEnd(t *testing.T) {
	l := newLeases()
	now := time.Unix(1_700_000_000, 0)
	e := quorum.LeaseEvent{Key: "k", Token: 5, Validity: time.Second}
	l.hold(e, now)
	l.hold(quorum.LeaseEvent{Key: "k", Token: 6}, now)
	assert.Len(t, l.known, 1, "an end that was reported first is not kept, or it would be counted again")

	// The clocks of a suspended machine disagree on how long the lease was held, so the token alone
	// identifies it.
	e.Held = time.Hour
	assert.True(t, l.drop(e, now))
	assert.False(t, l.drop(e, now), "once")

	e.Token, e.Held = 0, time.Second
	l.hold(e, now)
	older := e
	older.Held += slack + 1
	assert.False(t, l.drop(older, now), "an earlier lease on the same key")
	e.Held += slack
	assert.True(t, l.drop(e, now))
}
