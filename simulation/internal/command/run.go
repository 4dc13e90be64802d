package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// played is a run with its forms of output.
type played struct{ play.Run }

// runRun runs a scenario or a fault of the matrix once and prints its events.
func runRun(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var design, data, schedule string
	var seed uint64
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&design, "design", "", "the `name` of the lock design, see list (default: default, or the first that the scenario is played with)")
	flags.Uint64Var(&seed, "seed", 0, "the seed")
	flags.StringVar(&schedule, "schedule", "", "play the faults in this `file` instead, or those of a JSON list such as '[]' (see simulation.ReadSchedule)")
	flags.StringVar(&data, "json", "", "write history, violations and counts to this `file`")
	name, err := parseWith(flags, args, "scenario or fault", stderr)
	if err != nil {
		return err
	}
	asData, err := openOutfile("-json", data)
	if err != nil {
		return err
	}
	defer asData.abandon()
	p, err := playOne(name, design, seed, schedule)
	if err != nil {
		return usageError{err}
	}
	if err := printStory(stdout, p.heading(), p.Result); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nfound: %s; expected: %s\n", play.Found(p.Result), p.Expected)
	fmt.Fprintf(stdout, "trace: sha256 %s\n", p.Result.Log.Digest())
	if err := asData.write(p.json); err != nil {
		return err
	}
	if p.Unexpected == nil {
		fmt.Fprintln(stdout, "as expected")
	}
	return p.Unexpected
}

// playOne runs a scenario or a fault, with its own faults or those of -schedule: a file, or the
// list itself.
func playOne(name, design string, seed uint64, schedule string) (played, error) {
	setup := play.Setup{Base: name, Design: design, Seed: seed}
	words := "the faults of -schedule"
	if schedule != "" {
		text, err := scheduleText(schedule)
		if err != nil {
			return played{}, err
		}
		if !isList(schedule) {
			words = "the faults of " + schedule
		}
		if setup.Schedule, err = simulation.ReadSchedule(text); err != nil {
			return played{}, err
		}
	}
	run, err := play.Play(setup)
	if schedule != "" {
		run.Words = words
	}
	return played{run}, err
}

// scheduleText is what -schedule names: a list itself, or the content of a file.
func scheduleText(schedule string) ([]byte, error) {
	if isList(schedule) {
		return []byte(schedule), nil
	}
	return os.ReadFile(schedule)
}

func isList(schedule string) bool { return strings.HasPrefix(strings.TrimSpace(schedule), "[") }

func (p played) heading() string {
	return fmt.Sprintf("%s: %s · %s · seed %d", p.Name, p.Title, p.Design.Name, p.Seed)
}

// runJSON is a run as data.
type runJSON struct {
	Name       string                 `json:"name"` // of the scenario or the fault
	Title      string                 `json:"title"`
	Design     string                 `json:"design"`
	Seed       uint64                 `json:"seed"`
	Expected   string                 `json:"expected"`
	AsExpected bool                   `json:"as_expected"`
	Kinds      []record.ViolationKind `json:"kinds"`
	Violations []search.Found         `json:"violations"`
	History    []eventJSON            `json:"history"`
	Counts     map[string]int         `json:"counts"`
	Events     int                    `json:"events"`
	Ended      time.Duration          `json:"ended_ns"`
	Digest     string                 `json:"digest"`
}

type eventJSON struct {
	At      time.Duration `json:"at_ns"`
	Process string        `json:"process"`
	// Goroutine is the index of the process's goroutine, from 0.
	Goroutine int           `json:"goroutine,omitempty"`
	What      string        `json:"what"`
	Key       string        `json:"key,omitempty"`
	Lease     int           `json:"lease,omitempty"` // its number, from 1
	Token     uint64        `json:"token,omitempty"`
	Validity  time.Duration `json:"validity_ns,omitempty"`
	Words     string        `json:"words,omitempty"`
}

func (p played) json(w io.Writer) error {
	r := p.Result
	out := runJSON{
		Name: p.Name, Title: p.Title, Design: p.Design.Name, Seed: p.Seed, Expected: p.Expected, AsExpected: p.Unexpected == nil,
		Kinds: append([]record.ViolationKind{}, r.Kinds()...), Violations: []search.Found{}, History: []eventJSON{},
		Counts: r.Log.Counts(), Events: r.Events, Ended: r.Ended, Digest: r.Log.Digest(),
	}
	for _, v := range r.Log.Violations() {
		out.Violations = append(out.Violations, search.Found{Kind: v.Kind, At: v.At, Text: v.Text})
	}
	for _, e := range r.Log.History() {
		words := e.Words
		switch e.Kind {
		case record.Read:
			words = "version 0 value 0"
		case record.Write:
			words = fmt.Sprintf("version %d value %d", e.AsOf, e.Value)
		}
		out.History = append(out.History, eventJSON{e.At, e.Process, e.Goroutine, e.Kind.String(), e.Key, e.Lease, uint64(e.Token), e.Validity, words})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}
