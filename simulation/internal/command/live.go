//go:build unix

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/internal/live"
)

func runLive(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var binary, format, only string
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	flags.StringVar(&binary, "server", "", "the `program` to start as a server (default: redis-server)")
	flags.StringVar(&format, "format", "text", "the output: text or json")
	flags.StringVar(&only, "only", "", "play only the scenarios whose names, such as \"S7c\", this `pattern` matches as a whole word")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if err := oneOf("-format", format, "text", "json"); err != nil {
		return err
	}
	pattern, err := regexp.Compile(`(?i)\b(?:` + only + `)\b`)
	if err != nil {
		return usageError{fmt.Errorf("-only: %w", err)}
	}
	cases := slices.DeleteFunc(live.Cases(), func(a live.Case) bool { return !pattern.MatchString(a.Scenario) })
	if len(cases) == 0 {
		return usageError{fmt.Errorf("-only %q: no scenario has such a name", only)}
	}
	if _, err := (redisproc.Config{Binary: binary}).Find(); err != nil {
		return usageError{err}
	}
	var progress func(live.Line)
	if format == "text" {
		fmt.Fprintln(stdout, live.Heading())
		progress = func(line live.Line) { line.Print(stdout) }
	}
	played, err := live.Run(ctx, binary, cases, progress)
	if err != nil {
		return interrupted(ctx, err)
	}
	if format == "text" {
		_, err = fmt.Fprintf(stdout, "\n%s\n", played.Summary())
	} else {
		err = writeJSON(stdout, played)
	}
	if err == nil && played.Disagreements > 0 {
		err = fmt.Errorf("%d plays did not end as the simulation predicts", played.Disagreements)
	}
	return err
}

// runDriver ends with its input.
func runDriver(_ context.Context, args []string, stdout, stderr io.Writer) error {
	err := live.Drive(args, os.Stdin, stdout, stderr)
	if errors.Is(err, live.ErrArguments) {
		return usageError{err}
	}
	return err
}
