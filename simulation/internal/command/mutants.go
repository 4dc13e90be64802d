package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/redquorum/redlock/simulation/internal/mutants"
	"github.com/redquorum/redlock/simulation/internal/wrap"
)

// runMutants breaks the library's safety lines one at a time. It fails if a mutant is not
// caught.
func runMutants(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var only string
	var list bool
	var parallel int
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&only, "only", "", "the `names` of mutants, separated by commas (default: all)")
	flags.BoolVar(&list, "list", false, "list the mutants without running them")
	flags.IntVar(&parallel, "p", runtime.NumCPU()+1, "how many mutants run at once, 1 to 64")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if err := within("-p", parallel, 1, 64); err != nil {
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
	p, ended := newProgress(stderr), 0
	var missed []mutants.Result
	p.show("building the test programs")
	err = mutants.Run(ctx, from, chosen, parallel, func(r mutants.Result) {
		p.clear()
		fmt.Fprintln(stdout, r)
		if ended++; !r.Caught() {
			missed = append(missed, r)
		}
		p.show(fmt.Sprintf("%d of %d", ended, len(chosen)))
	})
	p.clear()
	if ended > 0 {
		fmt.Fprintln(stdout)
		for _, r := range missed {
			fmt.Fprintln(stdout, r) // again, because its row in the table is far up
		}
		fmt.Fprintf(stdout, "%d of %d mutants caught\n", ended-len(missed), len(chosen))
	}
	if err == nil && len(missed) > 0 {
		err = fmt.Errorf("%s not caught", wrap.Count(len(missed), "mutant"))
	}
	return interrupted(ctx, err)
}
