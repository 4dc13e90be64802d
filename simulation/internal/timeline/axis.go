package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

// The axis's ends. The lanes' names are on its left.
const left, right = 68.0, drawing.Width - 8

// axis maps time to a picture's width: evenly, except for a minimum distance between two moments,
// so that the events of a round trip are distinct beside a lease of ten seconds. Between two knots
// it is linear.
type axis []knot

// knot is a moment and its place.
type knot struct {
	at time.Duration
	x  float64
}

// newAxis maps from..until to left..right, with up to three pixels between two of the moments.
// Moments outside of it are ignored.
func newAxis(moments []time.Duration, from, until time.Duration) axis {
	const width = right - left
	least := min(3, width/4/float64(len(moments)+1))
	inside := []time.Duration{from, until}
	for _, m := range moments {
		if m > from && m < until {
			inside = append(inside, m)
		}
	}
	slices.Sort(inside)
	inside = slices.Compact(inside)
	even := width - least*float64(len(inside)-1)
	a := make(axis, len(inside))
	for i, m := range inside {
		a[i] = knot{m, left + least*float64(i) + even*share(m-from, until-from)}
	}
	return a
}

func (a axis) from() time.Duration  { return a[0].at }
func (a axis) until() time.Duration { return a[len(a)-1].at }

// shows reports whether a time is on the axis.
func (a axis) shows(t time.Duration) bool { return a.overlaps(t, t) }

// overlaps reports whether a part of a period is on the axis.
func (a axis) overlaps(from, until time.Duration) bool { return from <= a.until() && until >= a.from() }

// x returns where a time is drawn: at the edge if it is outside.
func (a axis) x(t time.Duration) float64 {
	i, _ := slices.BinarySearchFunc(a, t, func(k knot, t time.Duration) int { return cmp.Compare(k.at, t) })
	switch i {
	case 0:
		return a[0].x
	case len(a):
		return a[i-1].x
	}
	before, after := a[i-1], a[i]
	return before.x + share(t-before.at, after.at-before.at)*(after.x-before.x)
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }
