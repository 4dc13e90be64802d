package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redquorum/redlock/quorum"
)

func runVerify(ctx context.Context, o *options, s streams) error {
	c, err := o.connect(s, quorum.Terms{})
	if err != nil {
		return err
	}
	defer c.close()
	report, err := c.Verify(ctx)
	mayVote, q := 0, c.Config().Quorum
	for _, r := range report.Instances {
		if votes(r.Err) {
			mayVote++
		}
	}
	if err := printReport(s.out, report); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "%d of %d servers may vote; a quorum is %d\n", mayVote, len(report.Instances), q); err != nil {
		return err
	}
	switch {
	case err == nil:
		return nil
	case mayVote >= q:
		return exitError{code: exitUnfit}
	default:
		return exitError{code: exitNoQuorum}
	}
}

func printReport(w io.Writer, report quorum.Report) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "server\tvotes\tanswers in\tclock\tsoftware\tkeeps")
	for _, r := range report.Instances {
		votes, clock := map[bool]string{true: "yes", false: "NO"}[votes(r.Err)], "hidden"
		if r.ClockUncertainty > 0 {
			clock = fmt.Sprintf("%+.1f ms, to within %.1f ms", ms(r.ClockOffset), ms(r.ClockUncertainty))
		}
		fmt.Fprintf(out, "%s\t%s\t%.1f ms\t%s\t%s %s\t%s\n", r.Name, votes, ms(r.Latency), clock, r.Identity.Server, r.Identity.Version, r.Identity.Persistence)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, r := range report.Instances {
		for _, text := range textsOf(r.Err) {
			fmt.Fprintf(&b, "WRONG  %s: %s\n", r.Name, text)
		}
		for _, text := range r.Notes {
			fmt.Fprintf(&b, "note   %s: %s\n", r.Name, text)
		}
	}
	for _, text := range report.Notes {
		fmt.Fprintf(&b, "note   %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// votes reports whether the votes of a server count, whose report has this error. They count if the
// server may evict locks or hides its run: then a lock is granted, but it isn't safe.
func votes(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !votes(err) })
	}
	return err == nil || errors.Is(err, quorum.ErrEviction) || errors.Is(err, quorum.ErrHidden)
}

// textsOf are the texts of an error and of those that it joins.
func textsOf(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(quorum.Redact(err.Error()), "\n")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
