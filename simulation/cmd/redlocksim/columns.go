package main

import (
	"io"
	"os"
	"strconv"
)

// mostColumns bounds the width of the first screen, because longer lines are hard to read.
const mostColumns = 80

// columns returns the width of the first screen. COLUMNS overrides the terminal's size.
func columns(out io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, mostColumns)
	}
	if f, ok := fileOf(out); ok {
		if n := terminalColumns(f); n > 0 {
			return min(n, mostColumns)
		}
	}
	return mostColumns
}
