package quorum

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
func learned(ahead, latency time.Duration) *serverClock {
	c := &serverClock{}
	received := drift.Instant{Mono: time.Second}
	c.learn(epoch.Add(time.Second+ahead), drift.Instant{Mono: received.Mono - latency}, received)
	return c
}

func TestStartToken(t *testing.T) {
	now := drift.Instant{Mono: 2 * time.Second}
	token := func(ahead time.Duration) fencing.Token {
		return fencing.Token(epoch.Add(now.Mono + ahead).UnixMicro())
	}
	near := learned(0, ms)
	for name, test := range map[string]struct {
		clocks []*serverClock
		want   fencing.Token
	}{
		"alike":                 {[]*serverClock{near, near, near, near, near}, token(4 * ms)},
		"a little apart":        {[]*serverClock{learned(-ms, ms), near, learned(ms, ms), near, learned(2*ms, ms)}, token(6 * ms)},
		"one far ahead":         {[]*serverClock{near, near, learned(time.Hour, ms), near, near}, token(4 * ms)},
		"one far behind":        {[]*serverClock{near, near, learned(-time.Hour, ms), near, near}, 0},
		"one slow":              {[]*serverClock{near, near, learned(0, 90*ms), near, near}, token(4 * ms)},
		"a quorum slow":         {[]*serverClock{learned(0, 10*ms), learned(0, 10*ms), learned(0, 10*ms), near, near}, token(40 * ms)},
		"a quorum too slow":     {[]*serverClock{learned(0, 70*ms), learned(0, 70*ms), learned(0, 70*ms), near, near}, 0},
		"two not known":         {[]*serverClock{near, {}, near, {}, near}, token(4 * ms)},
		"three not known":       {[]*serverClock{near, {}, {}, {}, near}, 0},
		"two that don't answer": {[]*serverClock{near, nil, near, nil, near}, token(4 * ms)},
		"none":                  {[]*serverClock{nil, nil, nil}, 0},
		"before 1970":           {[]*serverClock{learned(-100*365*24*time.Hour, ms), learned(-100*365*24*time.Hour, ms), learned(-100*365*24*time.Hour, ms)}, 0},
		"after the last token":  {[]*serverClock{learned(280*365*24*time.Hour, ms), learned(280*365*24*time.Hour, ms), learned(280*365*24*time.Hour, ms)}, 0},
	} {
		e := &env{cfg: Config{Quorum: 3, MaxTTL: time.Second, InstanceTimeout: 100 * ms}}
		var all servers
		for _, clock := range test.clocks {
			m := &server{env: e}
			if m.silent.Store(clock == nil); clock != nil {
				m.guess.ahead.Store(clock.ahead.Load())
				m.guess.latency.Store(clock.latency.Load())
			}
			all = append(all, m)
		}
		assert.Equal(t, test.want, all.startToken(now), name)
	}
}

// The latency is an average; the clock is the last one.
func TestServerClockLearns(t *testing.T) {
	c := learned(0, 8*ms)
	c.learn(time.Time{}, drift.Instant{}, drift.Instant{Mono: time.Hour})
	assert.Equal(t, (8 * ms).Microseconds(), c.latency.Load(), "a reply without a clock is ignored")
	at := drift.Instant{Mono: 3 * time.Second}
	c.learn(epoch, drift.Instant{Mono: at.Mono - 16*ms}, at)
	assert.Equal(t, (9 * ms).Microseconds(), c.latency.Load())
	assert.Equal(t, epoch.Add(-at.Mono).UnixMicro(), c.ahead.Load())
	c.learn(epoch, at, at)
	assert.Positive(t, c.latency.Load())
}
