package serverclock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/fencing"
)

const ms = time.Millisecond

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// learned is a clock that is ahead by this much, of a server with this latency.
func learned(ahead, latency time.Duration) *Clock {
	c := &Clock{}
	received := drift.Instant{Mono: time.Second}
	c.Learn(epoch.Add(time.Second+ahead), drift.Instant{Mono: received.Mono - latency}, received)
	return c
}

func TestStart(t *testing.T) {
	now := drift.Instant{Mono: 2 * time.Second}
	token := func(ahead time.Duration) fencing.Token {
		return fencing.Token(epoch.Add(now.Mono + ahead).UnixMicro())
	}
	near := learned(0, ms)
	for name, test := range map[string]struct {
		clocks []*Clock
		want   fencing.Token
	}{
		"alike":                 {[]*Clock{near, near, near, near, near}, token(4 * ms)},
		"a little apart":        {[]*Clock{learned(-ms, ms), near, learned(ms, ms), near, learned(2*ms, ms)}, token(6 * ms)},
		"one far ahead":         {[]*Clock{near, near, learned(time.Hour, ms), near, near}, token(4 * ms)},
		"one far behind":        {[]*Clock{near, near, learned(-time.Hour, ms), near, near}, 0},
		"one slow":              {[]*Clock{near, near, learned(0, 90*ms), near, near}, token(4 * ms)},
		"a quorum slow":         {[]*Clock{learned(0, 10*ms), learned(0, 10*ms), learned(0, 10*ms), near, near}, token(40 * ms)},
		"a quorum too slow":     {[]*Clock{learned(0, 20*ms), learned(0, 20*ms), learned(0, 20*ms), near, near}, 0},
		"two not known":         {[]*Clock{near, {}, near, {}, near}, token(4 * ms)},
		"three not known":       {[]*Clock{near, {}, {}, {}, near}, 0},
		"two that don't answer": {[]*Clock{near, nil, near, nil, near}, token(4 * ms)},
		"none":                  {nil, 0},
		"before 1970":           {[]*Clock{learned(-100*365*24*time.Hour, ms), learned(-100*365*24*time.Hour, ms), learned(-100*365*24*time.Hour, ms)}, 0},
		"after the last token":  {[]*Clock{learned(280*365*24*time.Hour, ms), learned(280*365*24*time.Hour, ms), learned(280*365*24*time.Hour, ms)}, 0},
	} {
		assert.Equal(t, test.want, Start(len(test.clocks), func(i int) *Clock { return test.clocks[i] }, 3, now, 50*ms), name)
	}
}

// The latency is an average; the clock is the last one.
func TestLearn(t *testing.T) {
	c := learned(0, 8*ms)
	c.Learn(time.Time{}, drift.Instant{}, drift.Instant{Mono: time.Hour})
	assert.Equal(t, (8 * ms).Microseconds(), c.latency.Load(), "a reply without a clock is ignored")
	at := drift.Instant{Mono: 3 * time.Second}
	c.Learn(epoch, drift.Instant{Mono: at.Mono - 16*ms}, at)
	assert.Equal(t, (9 * ms).Microseconds(), c.latency.Load())
	assert.Equal(t, epoch.Add(-at.Mono).UnixMicro(), c.ahead.Load())
	c.Learn(epoch, at, at)
	assert.Positive(t, c.latency.Load())
}
