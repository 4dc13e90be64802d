//go:build unix

package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/live"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
)

// needsRedis is the message if there is no server.
const needsRedis = "there is no redis-server in the PATH: install it (apt-get install redis-server, brew install redis), or name one with -server"

type liveFlags struct {
	server, format, only string
	parallel             int
	list                 bool
}

func runLive(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f liveFlags
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	flags.StringVar(&f.server, "server", "", "the `program` to start as a server (default: redis-server)")
	flags.StringVar(&f.format, "format", "text", "the output: text or json")
	flags.StringVar(&f.only, "only", "", "play only the scenarios whose names, such as \"S7c\" or \"S1 SIGSTOP\", this `pattern` matches as a whole word")
	flags.IntVar(&f.parallel, "parallel", 4, "how many run at once, 1 to 64")
	flags.BoolVar(&f.list, "list", false, "list the scenarios without running them")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	cases, err := f.cases()
	if err != nil {
		return usageError{err}
	}
	if f.list {
		for _, tc := range cases {
			fmt.Fprintf(stdout, "%-17s %s\n", tc.Name(), tc.Fault)
		}
		fmt.Fprintln(stdout, "\nnot on real servers:")
		for _, s := range scenarios.All() {
			if s.Unplayed != "" {
				fmt.Fprintf(stdout, "%-17s %s\n", s.ID, s.Unplayed)
			}
		}
		return nil
	}
	if err := findServer(f.server); err != nil {
		return err
	}
	return f.play(ctx, live.Options{Binary: f.server, Cases: cases, Parallel: f.parallel}, stdout)
}

// findServer reports an error if there is no such server, "" for the default.
func findServer(name string) error {
	_, err := exec.LookPath(cmp.Or(name, "redis-server"))
	switch {
	case err == nil:
		return nil
	case name == "":
		return usageError{errors.New(needsRedis)}
	}
	return usageError{fmt.Errorf("-server: %w", err)}
}

// cases returns the cases to run.
func (f liveFlags) cases() ([]live.Case, error) {
	if err := errors.Join(oneOf("-format", f.format, "text", "json"), within("-parallel", f.parallel, 1, 64)); err != nil {
		return nil, err
	}
	cases := live.Cases()
	if f.only == "" {
		return cases, nil
	}
	pattern, err := regexp.Compile(`(?i)\b(?:` + f.only + `)\b`)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	cases = slices.DeleteFunc(cases, func(a live.Case) bool { return !pattern.MatchString(a.Name()) })
	if len(cases) == 0 {
		return nil, fmt.Errorf("-only %q: no scenario has such a name; -list shows them", f.only)
	}
	return cases, nil
}

func (f *liveFlags) play(ctx context.Context, options live.Options, stdout io.Writer) error {
	if f.format == "text" {
		fmt.Fprintln(stdout, live.Heading())
		options.Progress = func(line live.Line) { fmt.Fprintln(stdout, line.Text()) }
	}
	played, err := live.Run(ctx, options)
	if err != nil {
		return interrupted(ctx, err)
	}
	if f.format == "text" {
		_, err = fmt.Fprintf(stdout, "\n%s\n", played.Summary())
	} else {
		err = writeJSON(stdout, played)
	}
	if err == nil && played.Disagreements > 0 {
		err = fmt.Errorf("%d plays did not end as the simulation predicts", played.Disagreements)
	}
	return err
}
