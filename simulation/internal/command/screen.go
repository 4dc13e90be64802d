package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// say writes a text of the first screen, wrapped at spaces.
func say(w io.Writer, text string) {
	fmt.Fprintln(w, strings.Join(wrap.Lines(text, report.SummaryWidth, "", ""), "\n"))
}

// nextCommands are the suggested commands after the first screen.
var nextCommands = [][2]string{
	{"run S1", "one pause, step by step"},
	{"play", "your own, in a browser"},
	{"matrix", "every lock and fault"},
}

// firstScreen shows a new user the result and the next commands. It fits on a screen.
func (f *matrixFlags) firstScreen(ctx context.Context, w io.Writer, r matrix.Result) error {
	if !r.Ended {
		say(w, partly(r))
		fmt.Fprintln(w)
	}
	if err := r.Summary().Text(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	unexpected := r.Unexpected()
	safe, violated := r.Safe()
	say(w, fmt.Sprintf("%d runs. Where no violation is expected there were %d in %d.", r.Runs, violated, safe))
	if f.html != "" {
		if err := f.writePage(r); err != nil {
			return err
		}
		say(w, "Pictures, reasons and all tables: "+f.html)
	}
	fmt.Fprintln(w)
	suggest(w, unexpected)
	return verdict(ctx, unexpected)
}

// suggest suggests the next commands, unless there are unexpected results.
func suggest(w io.Writer, unexpected []error) {
	if len(unexpected) > 0 {
		printUnexpected(w, unexpected)
		return
	}
	fmt.Fprintln(w, "Next:")
	for _, n := range nextCommands {
		fmt.Fprintf(w, "%-*s  %s\n", len(start)+11, "  "+start+" "+n[0], n[1])
	}
}
