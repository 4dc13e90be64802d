// Package shorten makes a list of faults or steps shorter while it still shows something.
package shorten

import "slices"

// List is delta debugging: it leaves out halves, then quarters, down to single elements, and begins
// again with the rest. shows is true for the list, and List returns the shortest one for which it was.
func List[S ~[]E, E any](list S, shows func(S) bool) S {
	for size := max(1, len(list)/2); len(list) > 0; {
		shorter := false
		for from := 0; from < len(list); {
			rest := slices.Delete(slices.Clone(list), from, min(from+size, len(list)))
			if shows(rest) {
				list, shorter = rest, true
				continue // the next elements have moved here
			}
			from += size
		}
		if size == 1 && !shorter {
			break
		}
		if !shorter || size > len(list) {
			size = max(1, size/2)
		}
	}
	return list
}
