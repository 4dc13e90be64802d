package drift_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
)

// epoch is the instance's clock at local monotonic time zero.
var epoch = time.Unix(1_700_000_000, 0)

// server is an instance's clock as a function of the local monotonic one. Time
// moves only forward, by run.
type server struct {
	now   time.Duration // local monotonic time
	rate  int64         // its present gain, in millionths
	drift int64         // its gain so far, in millionths of nanoseconds
	steps time.Duration // the sum of its steps
}

func (s *server) run(d time.Duration) {
	s.now += d
	s.drift += int64(d) * s.rate
}

// offset is how far the server's clock is ahead of the local one, rounded down to the nanosecond.
func (s *server) offset() time.Duration {
	drift := s.drift / 1_000_000
	if s.drift%1_000_000 < 0 {
		drift--
	}
	return time.Duration(drift) + s.steps
}

// read is the server's answer: whole microseconds, rounded down.
func (s *server) read() time.Time {
	return epoch.Add(s.now + s.offset()).Truncate(time.Microsecond)
}

// ask makes an observation: the way there, a reading of that age (it may be older than the
// question), the way back.
func (s *server) ask(there, age, back time.Duration) drift.Observation {
	var o drift.Observation
	if age > there {
		o.Server = s.read()
		s.run(age - there)
		o.Sent = s.now
		s.run(there)
	} else {
		o.Sent = s.now
		s.run(there - age)
		o.Server = s.read()
		s.run(age)
	}
	s.run(back)
	o.Received = s.now
	return o
}

// history makes random observations of a server within a Monitor's assumptions: its rate varies,
// answers take long, some are cached.
type history struct {
	*rand.Rand
	server
	maxRate   int64
	tolerance time.Duration
}

func newHistory(seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 0))}
	h.maxRate = []int64{0, 1, 500, 5_000, 100_000}[h.IntN(5)]
	h.tolerance = []time.Duration{0, time.Microsecond, 10 * time.Millisecond, time.Second}[h.IntN(4)]
	return h
}

func (h *history) monitor() *drift.Monitor {
	return &drift.Monitor{MaxRate: h.maxRate, Tolerance: h.tolerance}
}

// upTo returns a random duration from 0 to bound: mostly short ones, often the ends.
func (h *history) upTo(bound time.Duration) time.Duration {
	switch h.IntN(6) {
	case 0:
		return 0
	case 1:
		return bound
	case 2:
		return time.Duration(h.Int64N(int64(bound) + 1))
	default:
		return time.Duration(h.Int64N(int64(bound)/1000 + 1))
	}
}

func (h *history) pause() {
	if h.IntN(2) == 0 {
		h.rate = h.Int64N(2*h.maxRate+1) - h.maxRate
	}
	if h.IntN(4) == 0 {
		h.rate = []int64{-h.maxRate, h.maxRate}[h.IntN(2)]
	}
	h.run(h.upTo(time.Minute))
}

func (h *history) observe() drift.Observation {
	h.pause()
	return h.ask(h.upTo(5*time.Second), h.upTo(h.tolerance), h.upTo(5*time.Second))
}

const histories = 4_000

// Whatever the latencies, the rates and the times of observation: no alarm without a cause, and
// bounds that contain the truth.
func TestMonitorBelievesAGoodClock(t *testing.T) {
	for seed := range uint64(histories) {
		h := newHistory(seed)
		m := h.monitor()
		var first, firstDrift = time.Duration(-1), int64(0)
		for range 1 + h.IntN(30) {
			o := h.observe()
			jump, jumped := m.Observe(o)
			require.False(t, jumped, "seed %d: %v", seed, jump)
			require.Zero(t, jump)
			if first < 0 {
				first, firstDrift = h.now, h.drift
			}

			low, high, ok := m.Rate()
			span := h.now - first
			require.Equal(t, span >= time.Second, ok, "seed %d", seed)
			if ok {
				// Multiplied out, so nothing is rounded.
				require.LessOrEqual(t, low*int64(span), h.drift-firstDrift, "seed %d", seed)
				require.GreaterOrEqual(t, high*int64(span), h.drift-firstDrift, "seed %d", seed)
			}
			if h.IntN(2) == 0 {
				h.pause() // the bounds are asked for some time later
			}
			local := drift.Instant{Mono: h.now, Wall: epoch.Add(time.Duration(h.Int64N(int64(time.Hour))))}
			offset, uncertainty, ok := m.Offset(local)
			require.True(t, ok)
			truth := epoch.Add(h.now + h.offset()).Sub(local.Wall)
			require.LessOrEqual(t, offset-uncertainty, truth+1, "seed %d", seed)
			require.GreaterOrEqual(t, offset+uncertainty, truth, "seed %d", seed)
		}
	}
}

// Every step larger than the uncertainty of two observations is noticed at the first one after it,
// with its sign, and not as larger than it was.
func TestMonitorNoticesEveryStep(t *testing.T) {
	for seed := range uint64(histories) {
		h := newHistory(seed)
		m := h.monitor()
		for range h.IntN(10) {
			_, jumped := m.Observe(h.observe())
			require.False(t, jumped)
		}
		before := h.observe()
		_, jumped := m.Observe(before)
		require.False(t, jumped)
		h.pause()
		after := h.observe()
		// The uncertainty of the two readings: when each was taken, how old it was, its rounding,
		// and twice (in either direction) the clock's drift between them.
		open := before.Received - before.Sent + after.Received - after.Sent + 2*h.tolerance
		wandered := open + after.Received - before.Received
		bound := open + 2*time.Microsecond + 2*drift.Allowance{PPM: h.maxRate}.Of(wandered) + 5
		// The step is added now that its size is known: it moves the reading, and nothing else.
		step := bound + h.upTo(time.Hour)
		if h.IntN(2) == 0 {
			step = -step
		}
		after.Server = after.Server.Add(step)
		h.steps += step

		jump, jumped := m.Observe(after)
		require.True(t, jumped, "seed %d: a step of %v, bound %v", seed, step, bound)
		require.Equal(t, step > 0, jump.By > 0, "seed %d: %v by a step of %v", seed, jump.By, step)
		require.LessOrEqual(t, jump.By.Abs(), step.Abs(), "seed %d", seed)
		require.GreaterOrEqual(t, jump.By.Abs(), step.Abs()-bound, "seed %d", seed)
		require.Equal(t, after.Received-before.Received, jump.Within)

		// From there it accepts the clock as it is.
		_, _, ok := m.Rate()
		require.False(t, ok, "the rate is counted again")
		for range h.IntN(5) {
			jump, jumped := m.Observe(h.observe())
			require.False(t, jumped, "seed %d: %v", seed, jump)
		}
		offset, uncertainty, _ := m.Offset(drift.Instant{Mono: h.now, Wall: epoch})
		require.InDelta(t, h.now+h.offset(), offset, float64(uncertainty)+1, "seed %d", seed)
	}
}

// To the nanosecond: with instant answers and an exact rate, a step passes unnoticed up to
// Tolerance and the microsecond by which servers round.
func TestMonitorBoundIsExact(t *testing.T) {
	const tolerance = 10 * time.Millisecond
	cases := map[string]struct {
		rate            int64
		there, back     time.Duration // of both observations
		forward, toBack time.Duration // the largest steps that pass
	}{
		"at once":           {forward: tolerance + 1000, toBack: tolerance + 1000},
		"slow to arrive":    {there: time.Second, forward: tolerance + 1000 + 1*time.Second, toBack: tolerance + 1000 + 1*time.Second},
		"slow to come back": {back: time.Second, forward: tolerance + 1000 + 1*time.Second, toBack: tolerance + 1000 + 1*time.Second},
		// Ten seconds (and the time of the answers) at 1000 ppm, and what the older reading may
		// have gained in Tolerance: 10 us.
		"with a rate": {rate: 1000, forward: tolerance + 1000 + 10*time.Millisecond + 10*time.Microsecond, toBack: tolerance + 1000 + 10*time.Millisecond + 10*time.Microsecond},
	}
	for name, c := range cases {
		for _, step := range []time.Duration{c.forward, c.forward + 1, -c.toBack, -c.toBack - 1} {
			t.Run(fmt.Sprintf("%s, %d", name, step), func(t *testing.T) {
				m := &drift.Monitor{MaxRate: c.rate, Tolerance: tolerance}
				observe := func(at, offset time.Duration) (drift.Jump, bool) {
					return m.Observe(drift.Observation{Sent: at, Received: at + c.there + c.back, Server: epoch.Add(at + c.there + offset)})
				}
				_, jumped := observe(time.Second, 0)
				require.False(t, jumped)
				jump, jumped := observe(11*time.Second, step)
				switch step {
				case c.forward + 1:
					assert.Equal(t, drift.Jump{By: 1, Within: 10 * time.Second}, jump)
				case -c.toBack - 1:
					assert.Equal(t, drift.Jump{By: -1, Within: 10 * time.Second}, jump)
				default:
					assert.False(t, jumped, "%v", jump)
				}
			})
		}
	}
}

// A clock that gains or loses more than MaxRate is noticed as soon as the excess is larger than
// Tolerance, however often it is asked: small excesses add up.
func TestMonitorNoticesASlew(t *testing.T) {
	const maxRate, tolerance, latency = 5_000, 10 * time.Millisecond, time.Millisecond
	for _, every := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second} {
		for _, rate := range []int64{5_500, 6_000, 10_000, 83_333} {
			for _, sign := range []int64{1, -1} {
				t.Run(fmt.Sprintf("%+d ppm every %v", sign*rate, every), func(t *testing.T) {
					s := &server{rate: sign * rate}
					m := &drift.Monitor{MaxRate: maxRate, Tolerance: tolerance}
					// The excess must exceed two latencies, the tolerance and its own drift; then
					// the next observation shows it.
					open := 2*latency + tolerance + time.Microsecond
					open += open / 100
					within := open*1_000_000/time.Duration(rate-maxRate) + 2*every + 2*latency
					for {
						jump, jumped := m.Observe(s.ask(latency/2, 0, latency/2))
						if jumped {
							assert.Equal(t, sign > 0, jump.By > 0)
							assert.Greater(t, s.now, tolerance*1_000_000/time.Duration(rate-maxRate)/2, "not for less than the tolerance")
							return
						}
						require.Less(t, s.now, within, "unnoticed")
						s.run(every)
					}
				})
			}
		}
	}
}

// With time, quick answers narrow the bounds that a slow answer left wide.
func TestMonitorNarrowsItsBounds(t *testing.T) {
	s := &server{rate: 40}
	m := &drift.Monitor{MaxRate: 500}
	now := func() drift.Instant { return drift.Instant{Mono: s.now, Wall: epoch.Add(s.now)} }
	_, _, ok := m.Offset(now())
	assert.False(t, ok)
	_, _, ok = m.Rate()
	assert.False(t, ok)

	m.Observe(s.ask(3*time.Second, 0, time.Second))
	_, wide, ok := m.Offset(now())
	assert.True(t, ok)
	assert.InDelta(t, 2*time.Second, wide, float64(2*time.Millisecond))
	s.run(time.Second)
	m.Observe(s.ask(time.Millisecond, 0, time.Millisecond))
	offset, narrow, _ := m.Offset(now())
	assert.InDelta(t, s.offset(), offset, float64(narrow)+1)
	assert.InDelta(t, time.Millisecond, narrow, float64(10*time.Microsecond))
	m.Observe(s.ask(time.Second, 0, time.Second))
	_, still, _ := m.Offset(now())
	assert.Less(t, still, 3*time.Millisecond, "a slow answer doesn't widen them beyond their age")

	// Bounds widen between observations, and not just at the next answer.
	s.run(time.Hour)
	_, later, _ := m.Offset(now())
	assert.InDelta(t, time.Hour/2000, later-still, float64(time.Microsecond))
	_, earlier, _ := m.Offset(drift.Instant{Mono: s.now - 2*time.Hour, Wall: epoch})
	assert.Greater(t, earlier, still, "nor does it know the past better")

	// A day of observations shows the rate.
	for range 24 {
		s.run(time.Hour)
		m.Observe(s.ask(time.Millisecond, 0, time.Millisecond))
	}
	low, high, ok := m.Rate()
	require.True(t, ok)
	assert.LessOrEqual(t, low, int64(40))
	assert.GreaterOrEqual(t, high, int64(40))
	assert.Less(t, high-low, int64(100))
}

func TestMonitorPassesOverWhatIsOld(t *testing.T) {
	at := func(sent, received, server time.Duration) drift.Observation {
		return drift.Observation{Sent: sent * time.Second, Received: received * time.Second, Server: epoch.Add(server * time.Second)}
	}
	const step = 1000
	cases := map[string]struct {
		observations []drift.Observation
		jumps        []time.Duration // in seconds, 0 for none
	}{
		"received before the newest": {
			[]drift.Observation{at(10, 20, 20), at(11, 19, 19+step), at(21, 21, 21)}, []time.Duration{0, 0, 0},
		},
		"received with the newest": {
			[]drift.Observation{at(20, 20, 20), at(20, 20, 20+step)}, []time.Duration{0, step},
		},
		"received before it was sent": {
			[]drift.Observation{at(10, 10, 10), at(12, 11, 11+step), at(13, 13, 13)}, []time.Duration{0, 0, 0},
		},
		"the first received before it was sent": {
			[]drift.Observation{at(12, 11, 11+step), at(13, 13, 13), at(14, 14, 14)}, []time.Duration{0, 0, 0},
		},
		"overlapping, before the first was received": {
			// It is unknown whether the answer from before the step was given before the first
			// observation, so it counts.
			[]drift.Observation{at(1, 2, 2+step), at(0, 5, 0)}, []time.Duration{0, -step},
		},
		"under way when a jump was noticed": {
			[]drift.Observation{at(1, 1, 1), at(3, 4, 4+step), at(2, 6, 3), at(4, 6, 6+step), at(3, 7, 3), at(7, 7, 7+step), at(8, 8, 8)},
			[]time.Duration{0, step, 0, 0, 0, 0, -step},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := &drift.Monitor{}
			for i, o := range c.observations {
				jump, jumped := m.Observe(o)
				require.Equal(t, c.jumps[i] != 0, jumped, "observation %d: %v", i, jump)
				assert.InDelta(t, c.jumps[i]*time.Second, jump.By, float64(5*time.Second), "observation %d", i)
			}
		})
	}
}

func TestJumpString(t *testing.T) {
	assert.Equal(t, "its clock went forward by 15.001s within the last 2s", drift.Jump{By: 15*time.Second + 600*time.Microsecond, Within: 2 * time.Second}.String())
	assert.Equal(t, "its clock went back by 1h0m0s within the last 10ms", drift.Jump{By: -time.Hour, Within: 10*time.Millisecond + 400*time.Microsecond}.String())
}
