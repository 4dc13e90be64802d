package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/wrap"
	"github.com/redquorum/redlock/simulation/record"
)

// runList lists all scenarios, designs and faults, or one of them in full.
func runList(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("list", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: redlocksim list [SCENARIO|DESIGN|FAULT]")
	}
	if len(args) == 0 {
		listAll(stdout)
		return nil
	}
	name, err := parseWith(flags, args, "scenario, design or fault", stderr)
	if err != nil {
		return err
	}
	s, noScenario := scenarios.ByID(name)
	d, noDesign := designs.ByName(name)
	f, noFault := cells.ByName(name)
	switch {
	case noScenario == nil:
		printScenario(stdout, s)
	case noDesign == nil:
		printDesign(stdout, d)
	case noFault == nil:
		printFault(stdout, f)
	default:
		return usageError{errors.Join(noScenario, noDesign, noFault)}
	}
	return nil
}

func listAll(w io.Writer) {
	fmt.Fprintln(w, "scenarios, each with the number of its designs that it breaks")
	for _, s := range scenarios.All() {
		broken := 0
		for _, d := range s.Designs() {
			if v := s.Verdicts[d.Name]; !v.Safe() && harmless(d, v.Kinds) == "" {
				broken++
			}
		}
		wrap.Paragraph(w, fmt.Sprintf("  %-5s %2d of %2d  ", s.ID, broken, len(s.Verdicts)), s.Title)
	}
	group := designs.Group("")
	for _, d := range designs.All() {
		if d.Group != group {
			group = d.Group
			fmt.Fprintf(w, "\ndesigns: %s\n", group)
		}
		wrap.Paragraph(w, fmt.Sprintf("  %-17s ", d.Name), d.Title)
	}
	fmt.Fprintln(w, "\nfaults, the columns of the matrix")
	for _, f := range cells.Faults() {
		wrap.Paragraph(w, fmt.Sprintf("  %-17s ", f.Name), f.Title)
	}
	wrap.Paragraph(w, "\n", fmt.Sprintf("explore takes the kinds of faults (-faults restart,step): %s.", strings.Trim(fmt.Sprint(fault.Kinds()), "[]")))
}

// harmless says so if a design promises none of what these violations break.
func harmless(d designs.Design, kinds []record.ViolationKind) string {
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind record.ViolationKind) bool { return cells.Promised(d, kind) }) {
		return ""
	}
	return " (no harm: the resource checks tokens)"
}

// paragraphs writes pairs of a heading and a text, and leaves out those without a text.
func paragraphs(w io.Writer, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			wrap.Paragraph(w, pairs[i], pairs[i+1])
		}
	}
}

// printFault prints a fault and the expectation for each design.
func printFault(w io.Writer, f cells.Fault) {
	paragraphs(w, f.Name+": ", f.Title)
	fmt.Fprintln(w)
	paragraphs(w, "source: ", f.Source, "a 0 shows nothing without: ", strings.Join(f.Needs, "; "))
	fmt.Fprintln(w, "\nexpected:")
	for _, d := range designs.All() {
		if want, ok := cells.ExpectationOf(f.Name, d.Name); ok {
			wrap.Paragraph(w, fmt.Sprintf("  %-17s ", d.Name), want.String())
		}
	}
}

func printScenario(w io.Writer, s scenarios.Scenario) {
	paragraphs(w, s.ID+": ", s.Title)
	fmt.Fprintln(w)
	for _, step := range s.Steps {
		wrap.Paragraph(w, "  ", step)
	}
	fmt.Fprintln(w)
	paragraphs(w, "what helps: ", s.Helps, "source: ", s.Source)
	for _, d := range s.Variants {
		wrap.Paragraph(w, d.Name+": ", d.Title)
	}
	fmt.Fprintln(w, "\nverdicts:")
	for _, d := range s.Designs() {
		v := s.Verdicts[d.Name]
		fmt.Fprintf(w, "  %-17s %v%s\n", d.Name, v, harmless(d, v.Kinds))
	}
}

func printDesign(w io.Writer, d designs.Design) {
	paragraphs(w, d.Name+": ", d.Title)
	fmt.Fprintln(w)
	paragraphs(w, "source: ", d.Source, "breaks by: ", d.Breaks)
	fmt.Fprintln(w, "\nverdicts:")
	for _, s := range scenarios.All() {
		if v, ok := s.Verdicts[d.Name]; ok {
			wrap.Paragraph(w, fmt.Sprintf("  %-5s ", s.ID), fmt.Sprintf("%s: %v%s", s.Title, v, harmless(d, v.Kinds)))
		}
	}
}
