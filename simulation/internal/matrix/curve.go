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
	// often multiplies the number of runs of each point, and seldom divides it. 0 is 1.
	often, seldom uint64
	// mean makes a point's value the mean of its runs' values, times unit. Otherwise it is
	// the share of runs that are hits.
	mean   bool
	unit   float64
	points []point
}

// point is one value of the parameter, with the function that plays a run.
type point struct {
	x    float64
	play playing
}

// playing plays a run with a value of the parameter.
type playing func(x float64, seed uint64) (outcome, error)

// outcome is the outcome of one run.
type outcome struct {
	hit   bool
	value int64
}

// runs is how many runs each of the series' points gets.
func (s series) runs(seeds uint64) uint64 {
	n := seeds * max(1, s.often)
	if s.seldom > 0 {
		n = (n + s.seldom - 1) / s.seldom
	}
	return n
}

// curves is every curve, in order.
func curves() []curve {
	return []curve{pauses(), rates(), crashes(), failovers(), splits(), roundsToWinner(), availability()}
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
	o, err := p.play(p.x, seed)
	if err != nil {
		return err
	}
	sum.Runs++
	sum.Sum += o.value
	sum.Squares += o.value * o.value
	if o.hit {
		sum.Violated.add(found{Runs: 1, First: seed})
	}
	return nil
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
			case s.mean:
				shown.Points = append(shown.Points, report.Mean(p.x, s.unit, sum.Runs, sum.Sum, sum.Squares))
			default:
				shown.Points = append(shown.Points, report.Share(p.x, sum.Violated.Runs, sum.Runs))
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
