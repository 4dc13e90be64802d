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
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&only, "only", "", "the `names` of mutants, separated by commas (default: all)")
	if err := parse(flags, args, stderr); err != nil {
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
	p, ended := newProgress(stderr), 0
	var missed []mutants.Result
	p.show("building the test programs")
	err = mutants.Run(ctx, from, chosen, runtime.GOMAXPROCS(0)+1, func(r mutants.Result) {
		p.clear()
		fmt.Fprintln(stdout, r)
		if ended++; !r.Caught {
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
