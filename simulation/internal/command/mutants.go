package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

// mutantsFormats are the values of -format.
var mutantsFormats = []string{"text", "json"}

// runMutants breaks the library's safety lines one at a time. It fails if a mutant is not
// caught.
func runMutants(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var only, format string
	var list bool
	var parallel int
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&only, "only", "", "the `names` of mutants, separated by commas (default: all)")
	flags.BoolVar(&list, "list", false, "list the mutants without running them")
	flags.StringVar(&format, "format", "text", "the output: "+strings.Join(mutantsFormats, ", "))
	flags.IntVar(&parallel, "p", runtime.NumCPU()+1, "how many mutants run at once, 1 to 64")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if err := errors.Join(oneOf("-format", format, mutantsFormats...), within("-p", parallel, 1, 64)); err != nil {
		return err
	}
	chosen, err := mutants.Select(commas(only)...)
	if err != nil {
		return usageError{err}
	}
	from, err := mutants.Open(ctx, ".")
	if errors.Is(err, mutants.ErrSource) {
		return usageError{err}
	} else if err != nil {
		return interrupted(ctx, err)
	}
	if list {
		for _, m := range chosen {
			fmt.Fprintf(stdout, "%-30s %s (%v)\n", m.Name, from.Guarantee(m), m.Detector)
		}
		return nil
	}
	j := mutantsRun{format: format, stdout: stdout, progress: newProgress(stderr), all: len(chosen)}
	return j.run(ctx, from, mutants.Options{Mutants: chosen, Parallel: parallel, Progress: j.print})
}

// mutantsRun is a run of the command.
type mutantsRun struct {
	format   string
	stdout   io.Writer
	progress *progress
	all      int
	over     int
	at       []string // the running mutants
}

func (j *mutantsRun) run(ctx context.Context, from mutants.Source, o mutants.Options) error {
	report, err := mutants.Run(ctx, from, o)
	j.progress.clear()
	if err != nil && len(report.Results) == 0 {
		return interrupted(ctx, err)
	}
	if j.format == "json" {
		if err := report.WriteJSON(j.stdout); err != nil {
			return err
		}
	} else {
		fmt.Fprint(j.stdout, "\n"+report.Summary())
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	if !report.OK() {
		return errors.New("not every mutant was caught, or the unmodified source was")
	}
	return nil
}

// print shows the progress, and a row for each finished mutant.
func (j *mutantsRun) print(name string, begins bool, r mutants.Result) {
	shown := name
	shown = cmp.Or(shown, "the unmodified source")
	if begins {
		j.at = append(j.at, shown)
	} else {
		j.at = slices.DeleteFunc(j.at, func(s string) bool { return s == shown })
		j.progress.clear()
		if name != "" {
			j.over++
			if j.format == "text" {
				fmt.Fprint(j.stdout, r.Line())
			}
		}
	}
	j.progress.show(fmt.Sprintf("%d of %d: %s", j.over, j.all, strings.Join(j.at, ", ")))
}
