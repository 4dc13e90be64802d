package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/wrap"
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
	if strings.HasPrefix(args[0], "-") {
		return parse(flags, args, stderr)
	}
	if err := parse(flags, args[1:], stderr); err != nil {
		return err
	}
	s, err := scenarios.ByID(args[0])
	if err == nil {
		printScenario(stdout, s)
		return nil
	}
	d, noDesign := designs.ByName(args[0])
	if noDesign == nil {
		printDesign(stdout, d)
		return nil
	}
	f, noFault := cells.ByName(args[0])
	if noFault == nil {
		printFault(stdout, f)
		return nil
	}
	return usageError{errors.Join(err, noDesign, noFault)}
}

func listAll(w io.Writer) {
	fmt.Fprintln(w, "scenarios (breaks: how many of the designs that it is played with)")
	for _, s := range scenarios.All() {
		broken := 0
		for _, v := range s.Verdicts {
			if !v.Safe() {
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
		fmt.Fprintf(w, "  %-17s %s\n", d.Name, d.Title)
	}
	listFaults(w)
}

// listFaults lists the columns of the matrix.
func listFaults(w io.Writer) {
	fmt.Fprintln(w, "\nfaults, the columns of the matrix")
	for _, f := range cells.Faults() {
		wrap.Paragraph(w, fmt.Sprintf("  %-17s ", f.Name), f.Title)
	}
	wrap.Paragraph(w, "\n", fmt.Sprintf("explore takes the kinds of faults (-faults restart,step): %s.", strings.Trim(fmt.Sprint(fault.Kinds()), "[]")))
}

// printFault prints a fault and the expectation for each design.
func printFault(w io.Writer, f cells.Fault) {
	wrap.Paragraph(w, f.Name+": ", f.Title)
	fmt.Fprintln(w)
	wrap.Paragraph(w, "source: ", f.Source)
	if len(f.Needs) > 0 {
		wrap.Paragraph(w, "a 0 shows nothing without: ", strings.Join(f.Needs, "; "))
	}
	fmt.Fprintln(w, "\nexpected:")
	for _, d := range designs.All() {
		if want, ok := cells.ExpectationOf(f.Name, d.Name); ok {
			wrap.Paragraph(w, fmt.Sprintf("  %-17s ", d.Name), want.String())
		}
	}
}

func printScenario(w io.Writer, s scenarios.Scenario) {
	fmt.Fprintf(w, "%s: %s\n\n", s.ID, s.Title)
	for _, step := range s.Steps {
		wrap.Paragraph(w, "  ", step)
	}
	fmt.Fprintln(w)
	wrap.Paragraph(w, "taken for granted: ", s.Assumption)
	wrap.Paragraph(w, "what breaks: ", s.Breaks)
	wrap.Paragraph(w, "what helps: ", s.Helps)
	if s.NoCure != "" {
		wrap.Paragraph(w, "no cure: ", s.NoCure)
	}
	wrap.Paragraph(w, "source: ", s.Source)
	if s.Unplayed != "" {
		wrap.Paragraph(w, "not played by redlocksim live: ", s.Unplayed)
	}
	for _, d := range s.Variants {
		wrap.Paragraph(w, d.Name+": ", d.Title)
	}
	fmt.Fprintln(w, "\nverdicts:")
	for _, d := range s.Designs() {
		v := s.Verdicts[d.Name]
		often := ""
		if v.AtLeast > 0 {
			often = fmt.Sprintf(" (in %.0f %% of the runs at least)", 100*v.AtLeast)
		}
		fmt.Fprintf(w, "  %-17s %v%s\n", d.Name, v, often)
	}
}

func printDesign(w io.Writer, d designs.Design) {
	fmt.Fprintf(w, "%s: %s\n\n", d.Name, d.Title)
	for _, part := range []struct{ what, text string }{
		{"source: ", d.Source}, {"breaks by: ", d.Breaks}, {"cure: ", d.Cure},
	} {
		if part.text != "" {
			wrap.Paragraph(w, part.what, part.text)
		}
	}
	fmt.Fprintln(w, "\nverdicts:")
	for _, s := range scenarios.All() {
		if v, ok := s.Verdicts[d.Name]; ok {
			wrap.Paragraph(w, fmt.Sprintf("  %-5s ", s.ID), fmt.Sprintf("%s: %v", s.Title, v))
		}
	}
}
