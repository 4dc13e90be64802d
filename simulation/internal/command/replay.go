package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/timeline"
	"github.com/redquorum/redlock/simulation/search"
	"github.com/redquorum/redlock/simulation/search/history"
	"github.com/redquorum/redlock/simulation/search/judge"
)

// judging bounds the time of package judge.
const judging = 30 * time.Second

func runReplay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var page string
	var quiet bool
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.StringVar(&page, "porcupine", "", "write package judge's page to this `file`")
	flags.BoolVar(&quiet, "quiet", false, "print only whether the run is the same")
	path, err := parseWith(flags, args, "replay file", stderr)
	if err != nil {
		return err
	}
	opinion, err := openOutfile("-porcupine", page)
	if err != nil {
		return err
	}
	defer opinion.abandon()
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
	if err := secondOpinion(stdout, opinion, replay.Result); err != nil {
		return err
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
		return fmt.Errorf("the trace differs from the recorded one (sha256 %.16s..., recorded %.16s...), though the violations are of the same kinds: the code has changed since", replay.Log.Digest(), file.Digest)
	default:
		return fmt.Errorf("it doesn't reproduce: recorded were %q, found %q: the code has changed since", file.Kinds(), replay.Kinds())
	}
}

// printStory prints the events of a run.
func printStory(out io.Writer, title string, r simulation.Result) error {
	options := timeline.TextOptions{Title: title}
	if f, ok := fileOf(out); ok {
		options.Color = timeline.ColorTerminal(f)
	}
	return timeline.Of(r.Log).Text(out, options)
}

// secondOpinion writes package judge's page, if there is one to write, and prints its
// verdict.
func secondOpinion(out io.Writer, page *outfile, r simulation.Result) error {
	if page == nil {
		return nil
	}
	operations := history.Of(r.Log, r.Ended)
	verdict, err := judge.Check(operations, judging)
	if err != nil {
		return err
	}
	if err := page.write(func(w io.Writer) error { return judge.Visualize(w, operations, judging) }); err != nil {
		return err
	}
	fmt.Fprintf(out, "porcupine: %v; see %s\n", verdict, page.path)
	return nil
}
