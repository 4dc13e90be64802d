package matrix

import (
	"fmt"
	"math"
	"strconv"

	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/report"
)

// curve is a chart before its runs: simulated points beside calculated lines.
type curve struct {
	id, title, words string
	x, y             report.Scale
	series           []series
	lines            []report.Series
}

// series are simulated points of one kind.
type series struct {
	name string
	// unit makes a point's value that of one run, times unit. 0: it is the share of runs
	// with a violation.
	unit   float64
	points []point
}

// point is one value of the parameter, with the function that plays a run.
type point struct {
	x    float64
	play playing
}

// playing plays a run with a value of the parameter. Its value is 1 for a violation and 0 for
// none, unless the series has a unit.
type playing func(x float64, seed uint64) (value int64, err error)

// runs is how many runs each of the series' points gets.
func (s series) runs(seeds uint64) uint64 {
	if s.unit != 0 {
		return min(seeds, 1)
	}
	return seeds
}

// curves is every curve, in order.
func curves() []curve {
	return []curve{pauses(), rates(), failovers(), splits()}
}

func curveByID(id string) (curve, error) {
	for _, c := range curves() {
		if c.id == id {
			return c, nil
		}
	}
	return curve{}, fmt.Errorf("%w: no curve %q", cells.ErrUnknown, id)
}

// name is the name of a point within its curve.
func (c curve) name(series, point int) string {
	return strconv.Itoa(series) + "/" + strconv.Itoa(point)
}

func (c curve) point(name string) (point, error) {
	for i, s := range c.series {
		for j, p := range s.points {
			if c.name(i, j) == name {
				return p, nil
			}
		}
	}
	return point{}, fmt.Errorf("%w: the curve %q has no point %q", cells.ErrUnknown, c.id, name)
}

func (t task) playCurve(seed uint64, sum *tally) error {
	c, err := curveByID(t.A)
	if err != nil {
		return err
	}
	p, err := c.point(t.B)
	if err != nil {
		return err
	}
	value, err := p.play(p.x, seed)
	sum.Runs++
	sum.Sum += value
	return err
}

// result is the curve with its points' results. Points that were not played are left out.
func (c curve) result(of func(name string) tally) report.Curve {
	result := report.Curve{ID: c.id, Title: c.title, Words: c.words, X: c.x, Y: c.y}
	for i, s := range c.series {
		shown := report.Series{Name: s.name}
		for j, p := range s.points {
			sum := of(c.name(i, j))
			switch {
			case sum.Runs == 0:
			case s.unit != 0:
				shown.Points = append(shown.Points, report.Point{X: p.x, Y: s.unit * float64(sum.Sum), Runs: sum.Runs})
			default:
				shown.Points = append(shown.Points, report.Share(p.x, int(sum.Sum), sum.Runs))
			}
		}
		result.Series = append(result.Series, shown)
	}
	result.Series = append(result.Series, c.lines...)
	return result
}

// line is a calculated series.
func line(name string, xs []float64, f func(x float64) float64) report.Series {
	s := report.Series{Name: name, Line: true}
	for _, x := range xs {
		s.Points = append(s.Points, report.Point{X: x, Y: f(x)})
	}
	return s
}

// at makes points of values.
func at(xs []float64, play playing) []point {
	points := make([]point, len(xs))
	for i, x := range xs {
		points[i] = point{x, play}
	}
	return points
}

// atLeast is the probability that of n independent things, each with the probability
// p, at least k happen.
func atLeast(k, n int, p float64) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += choose(n, i) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
	}
	return sum
}

// choose is n over k.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// steps are values from one to another, inclusive.
func steps(from, to, by float64) []float64 {
	var xs []float64
	for i := 0; from+float64(i)*by <= to+by/1000; i++ {
		xs = append(xs, from+float64(i)*by)
	}
	return xs
}
