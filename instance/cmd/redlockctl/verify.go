package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
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
	MissingRights    []string `json:"missing_rights"` // as an ACL has them
}

func runVerify(ctx context.Context, c *client, o *options, s streams) error {
	report, err := c.Verify(ctx)
	if report.Instances == nil {
		return err
	}
	v := verified{Quorum: c.Config().Quorum, Notes: list(report.Notes), OK: err == nil}
	ctx, cancel := context.WithTimeout(ctx, max(c.Config().InstanceTimeout, 2*time.Second)*time.Duration(len(report.Instances)))
	defer cancel()
	for i, r := range report.Instances {
		one := verifiedOf(r, c.Config().Set)
		one.checkRights(ctx, r, c.servers.Members()[i], o.keys)
		if v.OK = v.OK && len(one.Errors) == 0; one.Votes {
			v.MayVote++
		}
		v.Servers = append(v.Servers, one)
	}
	if len(o.keys) == 0 {
		v.Notes = append(v.Notes, "the rights to the locks' keys were not checked; redlockctl verify orders:42 checks them for one key")
	}
	if err := show(s.out, v, o.json); err != nil {
		return err
	}
	switch {
	case v.OK:
		return nil
	case v.MayVote >= v.Quorum:
		return exitError{code: exitUnfit}
	}
	return exitError{code: exitNoQuorum}
}

// verifiedOf takes in what was found of a server. Other clients may have another set, which a looker doesn't compare.
func verifiedOf(r quorum.InstanceReport, mine quorum.Set) verifiedServer {
	one := verifiedServer{
		Name: r.Name, Votes: votes(r.Err), Errors: []string{}, Notes: list(r.Notes), Latency: ms(r.Latency),
		Software: r.Identity.Server, Version: r.Identity.Version, Role: r.Identity.Role,
		Persistence: r.Identity.Persistence, Eviction: r.Identity.Eviction, Hidden: list(r.Identity.Hidden),
		ClockOffset: ms(r.ClockOffset), ClockUncertainty: ms(r.ClockUncertainty), MissingRights: []string{},
	}
	if q := r.Quarantine; q != nil {
		one.QuarantineReason, one.QuarantineLeft = q.Reason.String(), ms(q.Remaining)
	}
	if r.Err != nil {
		one.Errors = strings.Split(quorum.Redact(r.Err.Error()), "\n")
	}
	if theirs := r.Identity.Mark.Set(); theirs != "" && theirs != mine.String() {
		mismatch := &wire.SetMismatchError{Mine: mine, Theirs: theirs}
		one.Votes, one.Errors = false, append(one.Errors, mismatch.Error())
	}
	return one
}

// votes reports whether the votes of a server count, whose report has this error. They count if the
// server may evict locks or hides its run: then a lock is granted, but it isn't safe.
func votes(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !votes(err) })
	}
	return err == nil || errors.Is(err, quorum.ErrEviction) || errors.Is(err, quorum.ErrHidden)
}

// checkRights asks a server that answered which rights the user lacks.
func (one *verifiedServer) checkRights(ctx context.Context, r quorum.InstanceReport, server *instance.Redis, keys []string) {
	denied := errors.Is(r.Err, instance.ErrPermission)
	if r.Err != nil && r.Identity.RunID == "" && !denied && !errors.Is(r.Err, instance.ErrCommand) {
		return // it didn't answer
	}
	rights, err := server.Rights(ctx, keys...)
	if err != nil {
		one.Errors = append(one.Errors, "its rights can't be checked: "+quorum.Redact(err.Error()))
		return
	}
	if one.MissingRights = list(rights.Missing); len(rights.Missing) > 0 {
		if denied { // the error is about one of them, without its name in an ACL
			one.Errors = nil
		}
		one.Errors = append(one.Errors, "its user lacks rights that a lock needs; allow it "+strings.Join(rights.Missing, " "))
	}
	for _, right := range rights.Missing {
		// Without the mark's key locks are granted, but restarts may not be noticed.
		one.Votes = one.Votes && strings.Contains(right, "{redlock}:served:")
	}
	if len(rights.MissingToNotify) > 0 {
		one.Notes = append(one.Notes, "waiters poll, because its user lacks rights; allow it "+strings.Join(rights.MissingToNotify, " "))
	}
	for _, text := range rights.Unchecked {
		one.Notes = append(one.Notes, "not checked: "+text)
	}
}

// print writes the report for people.
func (v verified) print(w io.Writer) {
	fmt.Fprintln(w, "server\tvotes\tanswers in\tclock\tsoftware\tkeeps")
	for _, one := range v.Servers {
		votes, clock := "yes", "hidden"
		if !one.Votes {
			votes = "NO"
		}
		if one.ClockUncertainty > 0 {
			clock = fmt.Sprintf("%+.1f ms, to within %.1f ms", one.ClockOffset, one.ClockUncertainty)
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f ms\t%s\t%s %s\t%s\n", one.Name, votes, one.Latency, clock, one.Software, one.Version, one.Persistence)
	}
	fmt.Fprintln(w)
	for _, one := range v.Servers {
		for _, text := range one.Errors {
			fmt.Fprintf(w, "WRONG  %s: %s\n", one.Name, text)
		}
		for _, text := range one.Notes {
			fmt.Fprintf(w, "note   %s: %s\n", one.Name, text)
		}
	}
	for _, text := range v.Notes {
		fmt.Fprintf(w, "note   %s\n", text)
	}
	fmt.Fprintf(w, "%d of %d servers may vote; a quorum is %d\n", v.MayVote, len(v.Servers), v.Quorum)
}
