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
	assert.Empty(t, l.known, "nobody took a lock any more, and somebody read")
}

func TestLeasesThatEnd(t *testing.T) {
	l := newLeases()
	now := time.Unix(1_700_000_000, 0)
	e := quorum.LeaseEvent{Key: "k", Token: 5, Validity: time.Second}
	l.hold(e, now)
	l.hold(quorum.LeaseEvent{Key: "k", Token: 6}, now)
	assert.Len(t, l.known, 1, "what was over when it was told is not kept, or its end would be counted again")

	// A suspended machine's clocks disagree on how long it was held; the token
	// alone says which one it is.
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
