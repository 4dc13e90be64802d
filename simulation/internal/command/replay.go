package command

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/search"
)

func runReplay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var quiet bool
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.BoolVar(&quiet, "quiet", false, "print only whether the run is the same")
	path, err := parseWith(flags, args, "replay file", stderr)
	if err != nil {
		return err
	}
	known := registry()
	file, err := search.Load(known, path)
	if err != nil {
		return usageError{err}
	}
	replay, err := file.Replay(ctx, known)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		return usageError{err}
	}
	if !quiet {
		title := fmt.Sprintf("%s with %s, seed %d, %s", file.Workload, file.Design, file.Seed, count(len(file.Schedule), "fault"))
		if err := printStory(stdout, title, replay.Result); err != nil {
			return err
		}
	}
	return printReplay(stdout, file, replay)
}

// printReplay prints whether the run equals the recorded one.
func printReplay(out io.Writer, file search.File, replay search.Replay) error {
	fmt.Fprintf(out, "violations: %v\n", replay.Kinds())
	switch {
	case replay.Identical && replay.SameKinds:
		fmt.Fprintln(out, "the trace is the recorded one, byte for byte")
		return nil
	case replay.SameKinds:
		return fmt.Errorf("the trace differs from the recorded one (sha256 %.16s..., recorded %.16s...), though the violations are of the same kinds: the code has changed since, or the file was edited", replay.Log.Digest(), file.Digest)
	default:
		return fmt.Errorf("it doesn't reproduce: recorded were %q, found %q: the code has changed since, or the file was edited", file.Kinds(), replay.Kinds())
	}
}

// printStory prints the events of a run.
func printStory(out io.Writer, title string, r simulation.Result) error {
	return timeline.Of(r.Log).Text(out, title)
}
