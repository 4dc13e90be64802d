package timeline

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation"
)

// axis maps time to a drawing's width. Stretches in which nothing happens are cut
// to a fixed width, and marked; between two of these the scale is even, and each
// busy stretch has its own: a round trip of 2 ms and a pause of 12 s are both to
// be seen.
type axis struct {
	busy    []stretch
	width   float64
	cropped bool // it isn't all of the run
}

// stretch is a busy piece of the axis.
type stretch struct {
	from, until time.Duration
	x, width    float64 // where it begins
}

const (
	breakWidth = 64.0  // of a quiet stretch
	perMoment  = 13.0  // of a busy one, for each moment in it
	leastBusy  = 60.0  // of a busy one: its time must fit above it
	mostBusy   = 900.0 // of a busy one
	mostAll    = 6000.0
)

// newAxis makes an axis that begins at x. quiet is the least time that is cut out.
// If all of it would be too wide, it is the part around the moment focus.
func newAxis(moments []time.Duration, quiet, focus time.Duration, x float64) *axis {
	moments = slices.Clone(moments)
	slices.Sort(moments)
	moments = slices.Compact(moments)
	if len(moments) == 0 {
		moments = []time.Duration{0}
	}
	a := &axis{}
	first := 0
	for i := range moments {
		if i+1 < len(moments) && moments[i+1]-moments[i] <= quiet {
			continue
		}
		n := float64(i - first)
		a.busy = append(a.busy, stretch{from: moments[first], until: moments[i], width: min(mostBusy, max(leastBusy, perMoment*n))})
		first = i + 1
	}
	a.crop(focus)
	for i := range a.busy {
		b := &a.busy[i]
		b.x = x
		x += b.width + breakWidth
	}
	a.width = x - breakWidth
	return a
}

// crop leaves as many stretches around a moment as there is room for, most of them
// before it: what led to it is there.
func (a *axis) crop(focus time.Duration) {
	first := 0
	for i, b := range a.busy {
		if b.from <= focus {
			first = i
		}
	}
	last, room := first, mostAll-a.busy[first].width
	for grown := true; grown; {
		grown = false
		for _, i := range []int{first - 1, first - 2, last + 1} {
			if i != first-1 && i != last+1 || i < 0 || i >= len(a.busy) || a.busy[i].width+breakWidth > room {
				continue
			}
			room -= a.busy[i].width + breakWidth
			first, last, grown = min(first, i), max(last, i), true
		}
	}
	a.cropped = last-first+1 < len(a.busy)
	a.busy = a.busy[first : last+1]
}

// from and until bound what is drawn.
func (a *axis) from() time.Duration  { return a.busy[0].from }
func (a *axis) until() time.Duration { return a.busy[len(a.busy)-1].until }

// shows reports whether a time is within what is drawn.
func (a *axis) shows(t time.Duration) bool { return t >= a.from() && t <= a.until() }

// x is where a time is drawn.
func (a *axis) x(t time.Duration) float64 {
	for i, b := range a.busy {
		switch {
		case t < b.from && i == 0:
			return b.x
		case t < b.from:
			before := a.busy[i-1]
			left := before.x + before.width
			return left + share(t-before.until, b.from-before.until)*(b.x-left)
		case t <= b.until && b.until > b.from:
			return b.x + share(t-b.from, b.until-b.from)*b.width
		case t <= b.until:
			return b.x
		}
	}
	return a.width
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// step is a round distance of marks within a busy stretch, so that they are at
// least room apart.
func (b stretch) step(room float64) time.Duration {
	if b.until <= b.from {
		return 0
	}
	least := float64(b.until-b.from) / b.width * room
	for unit := time.Duration(1000); unit < forever/100; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if float64(unit*n) >= least {
				return unit * n
			}
		}
	}
	return 0
}

// moments is every time that is drawn.
func (d *drawing) moments() []time.Duration {
	t := d.t
	var out []time.Duration
	add := func(times ...time.Duration) {
		for _, at := range times {
			if at != None {
				out = append(out, at)
			}
		}
	}
	for _, m := range t.Messages {
		if d.draws(m) {
			add(m.Sent, m.Arrived, m.Heard, m.GaveUp, m.Missed, m.Again)
		}
	}
	for _, m := range t.Marks {
		if m.Kind != simulation.Started && m.Kind != simulation.Ended && !d.hidden(m.Lane, m.At) {
			add(m.At)
		}
	}
	for _, s := range t.Spans {
		add(s.From, s.Until)
	}
	for _, b := range t.Beliefs {
		add(b.From, b.Until)
	}
	for _, n := range t.Tenures {
		add(n.From, n.Until)
	}
	for _, a := range t.Accesses {
		add(a.At)
	}
	for _, v := range t.Violations {
		add(v.At)
	}
	return out
}

// quiet is how long nothing must happen for it to be cut out: longer than messages
// are usually on their way.
func (t *Timeline) quiet() time.Duration {
	var flights []time.Duration
	for _, m := range t.Messages {
		if m.Sent != None && m.Arrived != None {
			flights = append(flights, m.Arrived-m.Sent)
		}
	}
	if len(flights) == 0 {
		return 5 * time.Millisecond
	}
	slices.Sort(flights)
	return max(5*time.Millisecond, min(4*flights[len(flights)/2], time.Minute))
}
