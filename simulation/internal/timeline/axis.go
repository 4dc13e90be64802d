package timeline

import (
	"cmp"
	"slices"
	"time"
)

// Axis maps time to a picture's width: evenly, except for a minimum distance between two moments,
// so that the events of a round trip are distinct beside a lease of ten seconds. Between two knots
// it is linear.
type Axis []Knot

// Knot is a moment and its place.
type Knot struct {
	At time.Duration `json:"at"`
	X  float64       `json:"x"`
}

// newAxis maps from..until to x..x+width, with at least so many pixels between two of the moments.
// Moments outside of it are ignored.
func newAxis(moments []time.Duration, from, until time.Duration, x, width, least float64) Axis {
	inside := []time.Duration{from, until}
	for _, m := range moments {
		if m > from && m < until {
			inside = append(inside, m)
		}
	}
	slices.Sort(inside)
	inside = slices.Compact(inside)
	even := width - least*float64(len(inside)-1)
	axis := make(Axis, len(inside))
	for i, m := range inside {
		axis[i] = Knot{m, x + least*float64(i)}
		if until > from {
			axis[i].X += even * share(m-from, until-from)
		}
	}
	return axis
}

func (a Axis) from() time.Duration  { return a[0].At }
func (a Axis) until() time.Duration { return a[len(a)-1].At }

// shows reports whether a time is on the axis.
func (a Axis) shows(t time.Duration) bool { return a.overlaps(t, t) }

// overlaps reports whether a part of a period is on the axis.
func (a Axis) overlaps(from, until time.Duration) bool { return from <= a.until() && until >= a.from() }

// x returns where a time is drawn: at the edge if it is outside.
func (a Axis) x(t time.Duration) float64 {
	i, _ := slices.BinarySearchFunc(a, t, func(k Knot, t time.Duration) int { return cmp.Compare(k.At, t) })
	switch i {
	case 0:
		return a[0].X
	case len(a):
		return a[i-1].X
	}
	before, after := a[i-1], a[i]
	return before.X + share(t-before.At, after.At-before.At)*(after.X-before.X)
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// period is a period of time.
type period struct{ from, until time.Duration }

// moments returns every time that is drawn: the messages' only if asked for.
func (t *Timeline) moments(messages bool) []time.Duration {
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
	for _, v := range t.Violations {
		out = append(out, v.At)
	}
	for _, s := range t.Spans {
		out = append(out, s.From)
		if s.traits().Stops {
			out = append(out, s.Until)
		}
	}
	for _, m := range t.Events {
		if m.mentioned(messages) {
			out = append(out, m.At)
		}
	}
	for _, m := range t.Messages {
		if messages && !m.watching() {
			out = append(out, m.Sent, m.Arrived, m.Received, m.Missed)
		}
	}
	return slices.DeleteFunc(out, func(at time.Duration) bool { return at == never || at > t.End })
}
