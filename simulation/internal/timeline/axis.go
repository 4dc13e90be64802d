package timeline

import (
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// axis maps time to a drawing's width. Each busy period has an even scale of its own, so
// that a round trip of 2 ms and a pause of 12 s are both visible. The quiet periods between
// them have a fixed width.
type axis struct {
	period
	busy    []stretch
	width   float64
	cropped bool // it doesn't show the whole run
}

// stretch is a busy period.
type stretch struct {
	period
	x, width float64 // where it begins
}

const (
	breakWidth = 64.0  // of a quiet stretch
	perMoment  = 13.0  // of a busy one, for each moment in it
	leastBusy  = 60.0  // of a busy one: its time must fit above it
	mostBusy   = 900.0 // of a busy one
	mostAll    = 6000.0
)

// newAxis returns an axis that begins at x. quiet is the shortest quiet period. If the axis
// would be too wide, it shows the time around focus.
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
		a.busy = append(a.busy, stretch{period: period{moments[first], moments[i]}, width: min(mostBusy, max(leastBusy, perMoment*n))})
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

// crop keeps as many stretches around a moment as fit, most of them before it, because they
// show its cause.
func (a *axis) crop(focus time.Duration) {
	first := 0
	for i, b := range a.busy {
		if b.from <= focus {
			first = i
		}
	}
	last, left := first, mostAll-a.busy[first].width
	for grown := true; grown; {
		grown = false
		for _, i := range []int{first - 1, first - 2, last + 1} {
			if i != first-1 && i != last+1 || i < 0 || i >= len(a.busy) || a.busy[i].width+breakWidth > left {
				continue
			}
			left -= a.busy[i].width + breakWidth
			first, last, grown = min(first, i), max(last, i), true
		}
	}
	a.cropped = last-first+1 < len(a.busy)
	a.busy = a.busy[first : last+1]
	a.period = period{a.busy[0].from, a.busy[len(a.busy)-1].until}
}

// period is a period of time.
type period struct{ from, until time.Duration }

// shows reports whether a time is within the period.
func (p period) shows(t time.Duration) bool { return t >= p.from && t <= p.until }

// overlaps reports whether a part of another period is within it.
func (p period) overlaps(from, until time.Duration) bool { return from <= p.until && until >= p.from }

// x returns where a time is drawn.
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

// step returns a round interval of tick marks that are at least so many pixels apart.
func (b stretch) step(pixels float64) time.Duration {
	if b.until <= b.from {
		return 0
	}
	least := float64(b.until-b.from) / b.width * pixels
	for unit := time.Duration(1000); unit < forever/100; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if float64(unit*n) >= least {
				return unit * n
			}
		}
	}
	return 0
}

// moments returns every time that is drawn.
func (d *drawing) moments() []time.Duration {
	t := d.t
	out := t.moments()
	for _, m := range t.Messages {
		if d.draws(m) {
			out = append(out, m.Sent, m.Arrived, m.Received, m.GaveUp, m.Missed, m.Again)
		}
	}
	for _, m := range t.Events {
		if m.Kind != record.Started && m.Kind != record.Ended && !d.hidden(m.Lane, m.At) {
			out = append(out, m.At)
		}
	}
	for _, s := range t.Spans {
		out = append(out, s.From, s.Until)
	}
	for _, v := range t.Violations {
		out = append(out, v.At)
	}
	return slices.DeleteFunc(out, func(at time.Duration) bool { return at == never })
}

// moments returns the times of beliefs, keys and operations, which all drawings have.
func (t *Timeline) moments() []time.Duration {
	var out []time.Duration
	for _, b := range t.Beliefs {
		out = append(out, b.From, b.Until)
	}
	for _, n := range t.Tenures {
		out = append(out, n.From, n.Until)
	}
	for _, a := range t.Accesses {
		out = append(out, a.At)
	}
	return out
}

// quiet returns the shortest quiet period: longer than messages usually take.
func (t *Timeline) quiet() time.Duration {
	var flights []time.Duration
	for _, m := range t.Messages {
		if m.Sent != never && m.Arrived != never {
			flights = append(flights, m.Arrived-m.Sent)
		}
	}
	if len(flights) == 0 {
		return 5 * time.Millisecond
	}
	slices.Sort(flights)
	return max(5*time.Millisecond, min(4*flights[len(flights)/2], time.Minute))
}
