package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// runRun runs a scenario or a fault of the matrix once and prints its events.
func runRun(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var design, schedule string
	var seed uint64
	flags := flag.NewFlagSet("run [flags] SCENARIO|FAULT", flag.ContinueOnError)
	flags.StringVar(&design, "design", "", "the `name` of the lock design, see list (default: default, or the first that the scenario is played with)")
	flags.Uint64Var(&seed, "seed", 0, "the seed")
	flags.StringVar(&schedule, "schedule", "", "play the faults in this `file` instead, or those of a JSON list such as '[]' (see simulation.ReadSchedule)")
	name, err := parseWith(flags, args, "scenario or fault", stderr)
	if err != nil {
		return err
	}
	setup := play.Setup{Base: name, Design: design, Seed: seed}
	if schedule != "" {
		text := []byte(schedule)
		if !strings.HasPrefix(strings.TrimSpace(schedule), "[") {
			text, err = os.ReadFile(schedule)
		}
		if err == nil {
			setup.Schedule, err = simulation.ReadSchedule(text)
		}
		if err != nil {
			return usageError{err}
		}
	}
	p, err := play.Play(setup)
	if err != nil {
		return usageError{err}
	}
	title := fmt.Sprintf("%s: %s · %s · seed %d", p.Base, p.Title, p.Design, p.Seed)
	timeline.Of(p.Result.Log).Text(stdout, title)
	fmt.Fprintf(stdout, "\nfound: %s", play.Found(p.Result))
	if d, err := designs.ByName(p.Design); err == nil {
		fmt.Fprint(stdout, harmless(d, p.Result.Kinds()))
	}
	if p.Expected != play.Anything {
		fmt.Fprintf(stdout, "; expected: %s", p.Expected)
	}
	fmt.Fprintf(stdout, "\ntrace: sha256 %s\n", p.Result.Log.Digest())
	if p.Expected != play.Anything && p.Unexpected == nil {
		fmt.Fprintln(stdout, "as expected")
	}
	return p.Unexpected
}
