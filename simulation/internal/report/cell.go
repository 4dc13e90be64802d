package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/record"
)

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
	// Log is that of a run to look at. It is optional.
	Log record.Log `json:"-"`
}

// Rate is the share of runs with a violation, 0 to 1.
func (c Cell) Rate() float64 { return float64(c.Violated) / float64(max(1, c.Runs)) }

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

// legend explains the words of cells.
const legend = `none: no violation was found. ?: none was found, but what it depends on never happened, so that it shows nothing. ~: the lock was only unavailable, nobody got it. !: not as expected. -: not played.`

// unavailable are the kinds of violations that only keep clients waiting.
var unavailable = []string{string(record.NoProgress), string(record.NeverFree), string(record.Stuck)}

// Unavailable reports whether all violations are of these kinds.
func (c Cell) Unavailable() bool {
	harm := slices.DeleteFunc(slices.Collect(maps.Keys(c.Kinds)), func(kind string) bool { return slices.Contains(unavailable, kind) })
	return len(c.Kinds) > 0 && len(harm) == 0
}

// Word is a cell as a word: the rate of violations in at most five letters, "none", "?" for a 0 that shows
// nothing, or "-" if it was not played. "~" marks a lock that was only Unavailable, "!" an unexpected result.
func (c Cell) Word() string {
	word, p := "none", 100*c.Rate()
	switch {
	case c.Runs == 0:
		return "-"
	case c.Violated == 0 && len(c.Unreached) > 0:
		word = "?"
	case c.Violated == 0:
	case c.Violated == c.Runs:
		word = "100 %"
	case p < 0.1:
		word = "<.1 %"
	case p < 9.95:
		word = strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	case p > 99:
		word = ">99 %"
	default:
		word = strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
	if c.Unavailable() {
		word += "~"
	}
	if c.Unexpected {
		word += "!"
	}
	return word
}

// Class is the CSS class of a cell.
func (c Cell) Class() string {
	class := "none"
	switch {
	case c.Runs == 0:
		class = "quiet"
	case c.Unavailable():
		class = "unavailable"
	case c.Violated > 0:
		class = "bad"
	case len(c.Unreached) > 0:
		class = "unproved"
	}
	if c.Unexpected {
		class += " unexpected"
	}
	return class
}

// Evidence says how often there was a violation, and how sure that is.
func (c Cell) Evidence() string {
	low, high := c.Interval()
	if c.Violated == 0 {
		return fmt.Sprintf("none of %s runs: at most %s %% is likely", grouped(c.Runs), exact(high))
	}
	return fmt.Sprintf("%s of %s runs: %s %% (%s to %s %%)", grouped(c.Violated), grouped(c.Runs), exact(c.Rate()), exact(low), exact(high))
}

// Counts are the kinds of violations, the most frequent first, with their numbers of runs and first seeds.
func (c Cell) Counts() (all []string) {
	for _, kind := range slices.SortedFunc(maps.Keys(c.Kinds), func(a, b string) int {
		return cmp.Or(c.Kinds[b]-c.Kinds[a], strings.Compare(a, b))
	}) {
		text := fmt.Sprintf("%s in %d", kind, c.Kinds[kind])
		if seed, known := c.First[kind]; known {
			text += fmt.Sprintf(", first with seed %d", seed)
		}
		all = append(all, text)
	}
	return all
}

// exact writes a share as a percentage, with three digits.
func exact(rate float64) string { return strconv.FormatFloat(100*rate, 'g', 3, 64) }

// grouped writes a number with narrow gaps between groups of three digits.
func grouped(n int) string { return strings.ReplaceAll(timeline.Grouped(int64(n)), " ", "\u202f") }
