package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redquorum/redlock/quorum"
)

// verified is verify's report for programs. Times are in milliseconds.
type verified struct {
	OK      bool             `json:"ok"` // nothing is wrong
	Quorum  int              `json:"quorum"`
	MayVote int              `json:"may_vote"` // servers whose votes count
	Servers []verifiedServer `json:"servers"`
	Notes   []string         `json:"notes"`
}

type verifiedServer struct {
	Name             string   `json:"name"`
	Votes            bool     `json:"votes"` // its votes count, whatever is wrong
	Errors           []string `json:"errors"`
	Notes            []string `json:"notes"`
	Latency          float64  `json:"latency_ms"`
	Software         string   `json:"software"`
	Version          string   `json:"version"`
	Role             string   `json:"role"`
	Persistence      string   `json:"persistence"`
	Eviction         string   `json:"eviction"`
	ClockOffset      float64  `json:"clock_offset_ms"`
	ClockUncertainty float64  `json:"clock_uncertainty_ms"`
	QuarantineReason string   `json:"quarantine_reason,omitempty"`
	QuarantineLeft   float64  `json:"quarantine_left_ms"`
	Hidden           []string `json:"hidden"`
}

func runVerify(ctx context.Context, c *client, o *options, s streams) error {
	report, err := c.Verify(ctx)
	v := verifiedOf(report, c.Config().Quorum)
	if err := show(s.out, v, o.json); err != nil {
		return err
	}
	switch {
	case err == nil:
		return nil
	case v.MayVote >= v.Quorum:
		return exitError{code: exitUnfit}
	default:
		return exitError{code: exitNoQuorum}
	}
}

func verifiedOf(report quorum.Report, q int) verified {
	v := verified{OK: true, Quorum: q, Notes: list(report.Notes)}
	for _, r := range report.Instances {
		one := verifiedServer{
			Name: r.Name, Votes: votes(r.Err), Errors: textsOf(r.Err), Notes: list(r.Notes), Latency: ms(r.Latency),
			Software: r.Identity.Server, Version: r.Identity.Version, Role: r.Identity.Role, Persistence: r.Identity.Persistence,
			Eviction:    r.Identity.Eviction,
			ClockOffset: ms(r.ClockOffset), ClockUncertainty: ms(r.ClockUncertainty),
			Hidden: list(r.Identity.Hidden),
		}
		if q := r.Quarantine; q != nil {
			one.QuarantineReason, one.QuarantineLeft = q.Reason.String(), ms(q.Remaining)
		}
		v.OK = v.OK && r.Err == nil
		if one.Votes {
			v.MayVote++
		}
		v.Servers = append(v.Servers, one)
	}
	return v
}

// print writes the report for people.
func (v verified) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "server\tvotes\tanswers in\tclock\tsoftware\tkeeps")
	for _, one := range v.Servers {
		votes, clock := "yes", "hidden"
		if !one.Votes {
			votes = "NO"
		}
		if one.ClockUncertainty > 0 {
			clock = fmt.Sprintf("%+.1f ms, to within %.1f ms", one.ClockOffset, one.ClockUncertainty)
		}
		fmt.Fprintf(out, "%s\t%s\t%.1f ms\t%s\t%s %s\t%s\n", one.Name, votes, one.Latency, clock, one.Software, one.Version, one.Persistence)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, one := range v.Servers {
		for _, text := range one.Errors {
			fmt.Fprintf(&b, "WRONG  %s: %s\n", one.Name, text)
		}
		for _, text := range one.Notes {
			fmt.Fprintf(&b, "note   %s: %s\n", one.Name, text)
		}
	}
	for _, text := range v.Notes {
		fmt.Fprintf(&b, "note   %s\n", text)
	}
	fmt.Fprintf(&b, "%d of %d servers may vote; a quorum is %d\n", v.MayVote, len(v.Servers), v.Quorum)
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
		return []string{}
	}
	texts := strings.Split(quorum.Redact(err.Error()), "\n")
	for i := range texts {
		texts[i], _, _ = strings.Cut(texts[i], ", or call Coordinator.Trust") // only a program can
	}
	return texts
}

// list makes JSON write an empty list as [].
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// show writes a report for people, or as JSON for programs.
func show(w io.Writer, report interface{ print(w io.Writer) error }, asJSON bool) error {
	if !asJSON {
		return report.print(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
