package main

import (
	"io"
	"os"
	"strconv"
)

// mostColumns is how wide the first screen gets: lines that are longer are hard to
// read, however wide the terminal is.
const mostColumns = 80

// columns is how many columns the first screen may use. COLUMNS overrides the terminal's
// own size, as it does for other programs.
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
