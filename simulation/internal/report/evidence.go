package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Class is the CSS class of a cell.
func (c Cell) Class() string {
	class := ""
	switch {
	case c.Runs == 0:
		class = "quiet"
	case c.Violated > 0:
		class = "bad"
	case c.proves():
		class = "none"
	default:
		class = "unproved"
	}
	if c.Unexpected {
		class += " unexpected"
	}
	return class
}

// Evidence says how often there was a violation, and how sure that is.
func (c Cell) Evidence() string {
	if c.Violated > 0 {
		return fmt.Sprintf("%s of %s runs: %s", grouped(int64(c.Violated)), grouped(int64(c.Runs)), c.intervalText())
	}
	_, high := c.Interval()
	return fmt.Sprintf("none of %s runs: at most %s %% is likely", grouped(int64(c.Runs)), exact(high))
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
