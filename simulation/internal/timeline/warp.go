package timeline

import (
	"slices"
	"time"
)

// warp maps a period to a width: evenly, except for a minimum distance between two moments, so
// that the events of a round trip are distinct beside a lease of ten seconds.
type warp struct {
	period
	moments []time.Duration
	at      []float64
}

const (
	leastGap = 3.0
	// mostGaps is the largest share of the width for minimum distances.
	mostGaps = 0.25
)

// newWarp maps from..until to x..x+width. Moments outside of it are ignored.
func newWarp(moments []time.Duration, from, until time.Duration, x, width float64) warp {
	inside := []time.Duration{from, until}
	for _, m := range moments {
		if m > from && m < until {
			inside = append(inside, m)
		}
	}
	slices.Sort(inside)
	w := warp{period: period{from, until}, moments: slices.Compact(inside)}
	w.at = make([]float64, len(w.moments))
	n := len(w.moments) - 1
	least := 0.0
	if n > 0 {
		least = min(leastGap, mostGaps*width/float64(n))
	}
	even := width - least*float64(n)
	for i, m := range w.moments {
		w.at[i] = x + least*float64(i)
		if until > from {
			w.at[i] += even * share(m-from, until-from)
		}
	}
	return w
}

// x returns where a time is drawn: at the edge if it is outside.
func (w warp) x(t time.Duration) float64 {
	i, exact := slices.BinarySearch(w.moments, t)
	switch {
	case i == 0:
		return w.at[0]
	case i == len(w.moments):
		return w.at[len(w.at)-1]
	case exact:
		return w.at[i]
	}
	return w.at[i-1] + share(t-w.moments[i-1], w.moments[i]-w.moments[i-1])*(w.at[i]-w.at[i-1])
}
