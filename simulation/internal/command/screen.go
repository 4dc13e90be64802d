package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// screen is a terminal of a given width.
type screen struct {
	out   io.Writer
	width int
}

// text writes a text, wrapped at spaces.
func (s screen) text(text string) {
	fmt.Fprintln(s.out, strings.Join(wrap.Lines(text, s.width, "", ""), "\n"))
}

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

// nextCommands are the suggested commands after the first screen.
var nextCommands = [][2]string{
	{"run S1", "one pause, step by step"},
	{"demo", "the same pause, live"},
	{"matrix", "every lock and fault"},
}

// wide is the least width of a screen that also has space to explain the next commands.
const wide = 60

// firstScreen shows a new user the result and the next commands. It fits on a screen.
func (f *matrixFlags) firstScreen(ctx context.Context, s screen, r matrix.Result) error {
	if !r.Ended {
		s.text(partly(r))
		fmt.Fprintln(s.out)
	}
	if err := r.Summary().Text(s.out, s.width); err != nil {
		return err
	}
	fmt.Fprintln(s.out)
	unexpected := r.Unexpected()
	safe, violated := r.Safe()
	s.text(fmt.Sprintf("%d runs. Where no violation is expected there were %d in %d.", r.Runs, violated, safe))
	if f.page != nil {
		if err := f.writePage(r); err != nil {
			return err
		}
		s.text("Pictures, reasons and all tables: " + f.html)
	}
	fmt.Fprintln(s.out)
	s.next(unexpected)
	return verdict(ctx, unexpected)
}

// next suggests the next commands, unless there are unexpected results.
func (s screen) next(unexpected []error) {
	if len(unexpected) > 0 {
		printUnexpected(s.out, unexpected)
		return
	}
	fmt.Fprintln(s.out, "Next:")
	for _, n := range nextCommands {
		command := "  " + start + " " + n[0]
		if len(start)+11+4+len(n[1]) <= s.width {
			fmt.Fprintf(s.out, "%-*s  %s\n", len(start)+11, command, n[1])
			continue
		}
		fmt.Fprintln(s.out, command)
		if s.width >= wide {
			fmt.Fprintln(s.out, "      "+n[1])
		}
	}
}
