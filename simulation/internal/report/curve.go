package report

// Curve is one chart: simulated or measured points, beside calculated lines.
type Curve struct {
	// ID names the curve within a report: letters, digits and dashes.
	ID    string `json:"id"`
	Title string `json:"title"`
	// Words explain what the chart shows.
	Words string `json:"words,omitempty"`

	X      Scale    `json:"x"`
	Y      Scale    `json:"y"`
	Series []Series `json:"series"`
}

// Scale is one axis of a Curve.
type Scale struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	// Log makes the scale logarithmic, without points at or below 0.
	Log bool `json:"log,omitempty"`
	// Percent writes values, which are shares from 0 to 1, as percentages. A Y axis that is
	// not logarithmic then goes from 0 to 100 %.
	Percent bool `json:"percent,omitempty"`
}

// Series is one line or one set of points.
type Series struct {
	Name string `json:"name"`
	// Line joins the points, for calculated values. Otherwise each point has an error bar,
	// for simulated values.
	Line   bool    `json:"line,omitempty"`
	Points []Point `json:"points"`
}

// Point is one value. Low and High are the ends of its confidence interval, both 0: none.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	Runs int     `json:"runs,omitempty"`
}

// Share is the point of hits among runs, with its confidence interval, see
// Cell.Interval.
func Share(x float64, hits, runs int) Point {
	low, high := wilson(hits, runs)
	return Point{X: x, Y: Cell{Runs: runs, Violated: hits}.Rate(), Low: low, High: high, Runs: runs}
}

func (s Scale) label() string {
	if s.Unit == "" {
		return s.Label
	}
	return s.Label + " (" + s.Unit + ")"
}
