package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/matrix"
	"github.com/redquorum/redlock/simulation/internal/report"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
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
	p, err := playOne(name, design, seed)
	if err == nil && schedule != "" {
		p, err = p.withSchedule(schedule)
	}
	if err != nil {
		return usageError{err}
	}
	if err := tellStory(stdout, p.heading(), p.result); err != nil {
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

// playOne runs a scenario or a fault.
func playOne(name, design string, seed uint64) (played, error) {
	s, noScenario := scenarios.ByID(name)
	if noScenario == nil {
		return playScenario(s, design, seed)
	}
	f, noFault := matrix.ByName(name)
	if noFault == nil {
		return playFault(f, design, seed)
	}
	return played{}, errors.Join(noScenario, noFault)
}

func playScenario(s scenarios.Scenario, design string, seed uint64) (played, error) {
	if design == "" {
		design = s.Designs()[0].Name
		if _, ok := s.Verdicts["default"]; ok {
			design = "default"
		}
	}
	d, err := s.Design(design)
	if err != nil {
		return played{}, err
	}
	r, err := s.Play(seed, d)
	return played{
		name: s.ID, title: s.Title, words: strings.Join(s.Steps, "; "), design: d, seed: seed,
		expected: s.Verdicts[d.Name].String(), unexpected: s.Check(r, d), result: r,
	}, err
}

func playFault(f matrix.Fault, design string, seed uint64) (played, error) {
	if design == "" {
		design = "default"
	}
	d, err := designs.ByName(design)
	if err != nil {
		return played{}, err
	}
	r, err := f.Play(seed, d)
	p := played{name: f.Name, title: f.Title, words: f.Title, design: d, seed: seed, expected: "anything", result: r}
	if want, ok := matrix.ExpectationOf(f.Name, d.Name); ok {
		p.expected = fmt.Sprintf("%v, because %s", want.Likelihood, want.Why)
		for _, kind := range r.Kinds() {
			if matrix.Promised(d, kind) && !want.Allows(kind) {
				p.unexpected = fmt.Errorf("%s was not expected: %s", kind, p.expected)
			}
		}
	}
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
	Name       string          `json:"name"` // of the scenario or the fault
	Title      string          `json:"title"`
	Design     string          `json:"design"`
	Seed       uint64          `json:"seed"`
	Expected   string          `json:"expected"`
	AsExpected bool            `json:"as_expected"`
	Kinds      []string        `json:"kinds"`
	Violations []violationJSON `json:"violations"`
	History    []eventJSON     `json:"history"`
	Counts     map[string]int  `json:"counts"`
	Events     int             `json:"events"`
	Ended      time.Duration   `json:"ended_ns"`
	Digest     string          `json:"digest"`
}

type violationJSON struct {
	Kind string        `json:"kind"`
	At   time.Duration `json:"at_ns"`
	Text string        `json:"text"`
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
		Kinds: []string{}, Violations: []violationJSON{}, History: []eventJSON{},
		Counts: r.Log.Counts(), Events: r.Events, Ended: r.Ended, Digest: r.Log.Digest(),
	}
	for _, k := range r.Kinds() {
		out.Kinds = append(out.Kinds, string(k))
	}
	for _, v := range r.Log.Violations() {
		out.Violations = append(out.Violations, violationJSON{string(v.Kind), v.At, v.Text})
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
