package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/search"
)

// played is a run, and whether it ended as expected.
type played struct {
	name, title string
	words       string // what happens
	design      designs.Design
	seed        uint64
	expected    string
	unexpected  error // nil: as expected
	result      simulation.Result
}

// runRun runs a scenario or a fault of the matrix once and prints its events.
func runRun(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var design, html, address, data, schedule string
	var seed uint64
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&design, "design", "", "the `name` of the lock design, see list (default: default, or the first that the scenario is played with)")
	flags.Uint64Var(&seed, "seed", 0, "the seed")
	flags.StringVar(&schedule, "schedule", "", "play the faults in this `file` instead, a JSON list (see simulation.ReadSchedule)")
	flags.StringVar(&html, "html", "", "write the timeline as a page to this `file`, and its preview image beside it")
	flags.StringVar(&address, "url", "", addressUsage)
	flags.StringVar(&data, "json", "", "write history, violations and counts to this `file`")
	name, err := parseWith(flags, args, "scenario or fault", stderr)
	if err != nil {
		return err
	}
	onPage, err := openPage(html, address)
	if err != nil {
		return err
	}
	defer onPage.abandon()
	asData, err := openOutfile("-json", data)
	if err != nil {
		return err
	}
	defer asData.abandon()
	p, err := playOne(name, design, seed, schedule)
	if err != nil {
		return usageError{err}
	}
	if err := printStory(stdout, p.heading(), p.result); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nfound: %s; expected: %s\n", found(p.result), p.expected)
	if onPage != nil {
		if err := onPage.write(p.report()); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "the timeline as a page: %s\n", html)
	}
	if err := asData.write(p.json); err != nil {
		return err
	}
	if p.unexpected == nil {
		fmt.Fprintln(stdout, "as expected")
	}
	return p.unexpected
}

func found(r simulation.Result) string {
	return scenarios.Verdict{Kinds: r.Kinds()}.String()
}

// playOne runs a scenario or a fault, with its own faults or those of a file. Then the
// result has no expectation.
func playOne(name, design string, seed uint64, schedule string) (p played, err error) {
	var own interface {
		Play(uint64, designs.Design) (simulation.Result, error)
		PlaySchedule(uint64, designs.Design, simulation.Schedule) (simulation.Result, error)
	}
	check := func(simulation.Result) error { return nil }
	s, noScenario := scenarios.ByID(name)
	f, noFault := matrix.ByName(name)
	switch {
	case noScenario == nil:
		if _, ok := s.Verdicts["default"]; !ok {
			design = cmp.Or(design, s.Designs()[0].Name)
		}
		own, p.name, p.title, p.words = s, s.ID, s.Title, strings.Join(s.Steps, "; ")
		if yours, unknown := designs.ByName(design); unknown == nil && yours.Group == designs.Yours {
			p.design, p.expected = yours, "anything" // no scenario has a verdict for it
			break
		}
		p.design, err = s.Design(cmp.Or(design, "default"))
		p.expected = s.Verdicts[p.design.Name].String()
		check = func(r simulation.Result) error { return s.Check(r, p.design) }
	case noFault == nil:
		own, p.name, p.title, p.words = f, f.Name, f.Title, f.Title
		p.design, err = designs.ByName(cmp.Or(design, "default"))
		p.expected = "anything"
		if want, ok := matrix.ExpectationOf(f.Name, p.design.Name); ok {
			p.expected = want.String()
			check = func(r simulation.Result) error { return want.Check(r, p.design) }
		}
	default:
		err = errors.Join(noScenario, noFault)
	}
	if err != nil {
		return p, err
	}
	p.seed = seed
	if schedule == "" {
		p.result, err = own.Play(seed, p.design)
		p.unexpected = check(p.result)
		return p, err
	}
	text, err := os.ReadFile(schedule)
	if err != nil {
		return p, err
	}
	faults, err := simulation.ReadSchedule(text)
	if err != nil {
		return p, err
	}
	p.words, p.expected = "the faults of "+schedule, "anything"
	p.result, err = own.PlaySchedule(seed, p.design, faults)
	return p, err
}

func (p played) heading() string {
	return fmt.Sprintf("%s: %s · %s · seed %d", p.name, p.title, p.design.Name, p.seed)
}

func (p played) report() report.Report {
	command := repeat("run", p.name, "-design", p.design.Name, "-seed", strconv.FormatUint(p.seed, 10))
	return report.Report{
		Title: p.heading(), Version: version(), Command: command, Runs: 1,
		Description: "Expected: " + p.expected + ". Found: " + found(p.result) + ".",
		Timelines:   []report.TimelineRun{{ID: "run", Title: p.heading(), Command: command, Words: p.words, Log: p.result.Log, Full: true}},
	}
}

// runJSON is a run as data.
type runJSON struct {
	Name       string                     `json:"name"` // of the scenario or the fault
	Title      string                     `json:"title"`
	Design     string                     `json:"design"`
	Seed       uint64                     `json:"seed"`
	Expected   string                     `json:"expected"`
	AsExpected bool                       `json:"as_expected"`
	Kinds      []simulation.ViolationKind `json:"kinds"`
	Violations []search.Found             `json:"violations"`
	History    []eventJSON                `json:"history"`
	Counts     map[string]int             `json:"counts"`
	Events     int                        `json:"events"`
	Ended      time.Duration              `json:"ended_ns"`
	Digest     string                     `json:"digest"`
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
	r := p.result
	out := runJSON{
		Name: p.name, Title: p.title, Design: p.design.Name, Seed: p.seed, Expected: p.expected, AsExpected: p.unexpected == nil,
		Kinds: append([]simulation.ViolationKind{}, r.Kinds()...), Violations: []search.Found{}, History: []eventJSON{},
		Counts: r.Log.Counts(), Events: r.Events, Ended: r.Ended, Digest: r.Log.Digest(),
	}
	for _, v := range r.Log.Violations() {
		out.Violations = append(out.Violations, search.Found{Kind: v.Kind, At: v.At, Text: v.Text})
	}
	for _, e := range r.Log.History() {
		words := e.Words
		switch e.Kind {
		case simulation.Read:
			words = "version 0 value 0"
		case simulation.Write:
			words = fmt.Sprintf("version %d value %d", e.AsOf, e.Value)
		}
		out.History = append(out.History, eventJSON{e.At, e.Process, e.Goroutine, e.Kind.String(), e.Key, e.Lease, uint64(e.Token), e.Validity, words})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}
