//go:build unix

package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation/internal/live"
)

func runLive(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var options live.Options
	var format, only string
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	flags.StringVar(&options.Binary, "server", "", "the `program` to start as a server (default: redis-server)")
	flags.StringVar(&format, "format", "text", "the output: text or json")
	flags.StringVar(&only, "only", "", "play only the scenarios whose names, such as \"S7c\" or \"S7 ACL\", this `pattern` matches as a whole word")
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
	options.Cases = slices.DeleteFunc(live.Cases(), func(a live.Case) bool { return !pattern.MatchString(a.Scenario) })
	if len(options.Cases) == 0 {
		return usageError{fmt.Errorf("-only %q: no scenario has such a name", only)}
	}
	if _, err := (redisproc.Config{Binary: options.Binary}).Find(); err != nil {
		return usageError{err}
	}
	if format == "text" {
		fmt.Fprintln(stdout, live.Heading())
		options.Progress = func(line live.Line) { line.Print(stdout) }
	}
	played, err := live.Run(ctx, options)
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
