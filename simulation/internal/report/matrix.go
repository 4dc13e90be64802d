package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// Matrix has the results of each design under each fault.
type Matrix struct {
	Designs []Axis `json:"designs"` // the rows
	Faults  []Axis `json:"faults"`  // the columns
	// Cells has a slice for each design with a Cell for each fault. Missing cells were not
	// played.
	Cells [][]Cell `json:"cells"`
}

// Axis is a row or a column.
type Axis struct {
	Name  string `json:"name"` // it heads a column, broken at its dashes
	Title string `json:"title,omitempty"`
	// Source is the source of a design or a fault.
	Source string `json:"source,omitempty"`
}

// Cell is one design under one fault.
type Cell struct {
	Runs     int `json:"runs"`     // 0: not played
	Violated int `json:"violated"` // runs with a violation that counts
	// Overvalued is the number of runs with a lease whose validity was longer than its
	// servers keep its key. Violated does not include them.
	Overvalued int `json:"overvalued,omitempty"`
	// Kinds counts the runs with each kind of violation.
	Kinds map[string]int `json:"kinds,omitempty"`
	// First is the first seed of each of these kinds. It is optional.
	First map[string]uint64 `json:"first,omitempty"`
	// Seed is the first seed with a violation, if there is one.
	Seed uint64 `json:"seed"`
	// Unreached are counters on which a 0 depends and that stayed at 0.
	Unreached []string `json:"unreached,omitempty"`
	// Unexpected: the result is not the expected one.
	Unexpected bool `json:"unexpected,omitempty"`
	// Command repeats the first run with a violation.
	Command string `json:"command,omitempty"`
	// Expected is the expectation, with its reason.
	Expected string `json:"-"`
}

// Rate is the share of runs with a violation, 0 to 1.
func (c Cell) Rate() float64 {
	if c.Runs == 0 {
		return 0
	}
	return float64(c.Violated) / float64(c.Runs)
}

// Interval bounds the true rate with 95 % confidence. It is Wilson's score interval, which
// stays within 0 to 1 and is meaningful also without a violation. Without runs it is 0 to 1.
//
// Source: E. B. Wilson, "Probable Inference, the Law of Succession, and
// Statistical Inference", JASA 22 (1927).
func (c Cell) Interval() (low, high float64) {
	const z = 1.959963984540054 // the normal distribution's quantile for 95 % on two sides
	if c.Runs == 0 {
		return 0, 1
	}
	n, p := float64(c.Runs), c.Rate()
	middle := p + z*z/(2*n)
	spread := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = (middle-spread)/(1+z*z/n), (middle+spread)/(1+z*z/n)
	// Rounding must not leave a small difference here.
	if c.Violated == 0 {
		low = 0
	}
	if c.Violated == c.Runs {
		high = 1
	}
	return low, high
}

// proves reports whether a 0 shows anything.
func (c Cell) proves() bool { return len(c.Unreached) == 0 }

// At is a cell; the zero Cell where there is none.
func (m Matrix) At(design, fault int) Cell {
	if design < 0 || design >= len(m.Cells) || fault < 0 || fault >= len(m.Cells[design]) {
		return Cell{}
	}
	return m.Cells[design][fault]
}

// Word is a cell as a word: the rate of violations, "none", "?" for a 0 that shows nothing,
// or "-" if it was not played. "!" marks an unexpected result.
func (c Cell) Word() string {
	mark := ""
	if c.Unexpected {
		mark = "!"
	}
	switch {
	case c.Runs == 0:
		return "-"
	case c.Violated > 0:
		return percent(c.Rate()) + mark
	case !c.proves():
		return "?" + mark
	}
	return "none" + mark
}

// legend explains the words of cells.
const legend = `none: no violation was found. ?: none was found, but what it depends on never happened, so that it shows nothing. !: not as expected. -: not played.`

// percent writes a share in at most four letters. It writes 0 % and 100 % only for these.
func percent(rate float64) string {
	p := 100 * rate
	switch {
	case rate <= 0:
		return "0%"
	case rate >= 1:
		return "100%"
	case p < 0.1:
		return "<.1%"
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	case p > 99:
		return ">99%"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + "%"
	}
}

// intervalText is "3.1 % (2.2 to 4.4 %)".
func (c Cell) intervalText() string {
	low, high := c.Interval()
	return fmt.Sprintf("%s %% (%s to %s %%)", exact(c.Rate()), exact(low), exact(high))
}

// exact writes a share as a percentage, with three digits.
func exact(rate float64) string { return strconv.FormatFloat(100*rate, 'g', 3, 64) }

// grouped writes a number with narrow gaps between groups of three digits.
func grouped(n int64) string { return strings.ReplaceAll(timeline.Grouped(n), " ", "\u202f") }
