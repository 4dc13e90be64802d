package box

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Case is a schedule that every client is put through, and the fault that it is about.
type Case struct {
	Fault, Title string
	Schedule     Schedule
	Servers      int // how many it is for, the first ones
}

// noFault is the fault of the schedules without one.
const noFault = "none"

// evenNumber is the fault of an even number of servers, of which no half is a majority. It is
// played without one of them if their number is odd.
const evenNumber = "even number"

// serversFor returns how many of n servers a fault is played with.
func serversFor(fault string, n int) int {
	if fault == evenNumber {
		return n - n%2
	}
	return n
}

//go:embed cases.json
var caseList []byte

// Cases returns the cases for n servers, 1 to 9.
func Cases(n int) (all []Case) {
	var list []struct{ Fault, Title, Schedule string }
	if err := json.Unmarshal(caseList, &list); err != nil {
		panic("cases.json: " + err.Error()) // a test reads it
	}
	for _, l := range list {
		c := Case{Fault: l.Fault, Title: l.Title, Servers: serversFor(l.Fault, n)}
		if c.Servers == 0 {
			continue
		}
		var err error
		if c.Schedule, err = ParseSchedule(l.Schedule, c.Servers); err != nil {
			panic(fmt.Sprintf("cases.json: %s: %v", c.Title, err))
		}
		if c.Schedule != nil {
			all = append(all, c)
		}
	}
	return all
}

// What many faults strike at.
const (
	asksWhile = "A client asked for the lock, extended or released it while "
	hasLess   = ", and had fewer keys of the lock than before."
)

// faultKinds are the faults, with the steps that are their own, and when they have struck. A fault that
// happens when nothing depends on it shows nothing. A schedule with steps of several faults is one of the last
// of them, because the others only prepare it.
var faultKinds = []struct {
	name string
	own  []verb
	when string
}{
	{noFault, []verb{waits}, "A client got the lock."},
	{"pause", []verb{pause, sends}, "A client was stopped while it held the lock or asked for it, or its write came after another client had got the lock."},
	{"crash", []verb{kill}, "A client was killed while it held the lock or asked for it."},
	{"network", []verb{cut}, asksWhile + "its link to a server was disturbed."},
	{"hang", []verb{hang}, asksWhile + "a server hung."},
	{"stop", []verb{stop}, asksWhile + "a server was down."},
	{"restart", []verb{start}, "A server came back" + hasLess},
	{"old data", []verb{save}, "A server came back with what it had saved" + hasLess},
	{"flush", []verb{flush}, "A server lost a key of the lock."},
	{clockFault, []verb{ahead, behind}, "The clock of a server that had a key of the lock was set."},
	{"failover", []verb{fail}, "A replica took over" + hasLess},
	{"address", []verb{move}, "An address led to another server" + hasLess},
	{evenNumber, []verb{stop, cut}, "As for stop, or as for network."},
}

// Faults returns all faults.
func Faults() []string {
	var all []string
	for _, f := range faultKinds {
		all = append(all, f.name)
	}
	return all
}

// Strikes says when a fault has struck.
func Strikes(fault string) string {
	for _, f := range faultKinds {
		if f.name == fault {
			return f.when
		}
	}
	return ""
}

// ownSteps returns what the steps do that are a fault's own, nothing for a name that is no fault's.
func ownSteps(fault string) []verb {
	for _, f := range faultKinds {
		if f.name == fault {
			return f.own
		}
	}
	return nil
}

// faultVerb is what a step does, and cut for all that is done to a link.
func (s Step) faultVerb() verb {
	if forms[s.Do] == linkLast {
		return cut
	}
	return s.Do
}

// faultOf returns the fault that a schedule shows: the one that it was played for, if it has a step of it,
// or else another one.
func (s Schedule) faultOf(playedFor string) string {
	has := func(fault string) bool {
		return slices.ContainsFunc(s, func(step Step) bool { return slices.Contains(ownSteps(fault), step.faultVerb()) })
	}
	if playedFor == evenNumber || has(playedFor) {
		return playedFor
	}
	for _, f := range slices.Backward(faultKinds[1 : len(faultKinds)-1]) { // neither none nor the even number, which fit many
		if has(f.name) {
			return f.name
		}
	}
	return noFault
}

// ParseSchedule reads steps with commas between them. Words in capitals stand for some of n servers:
//
//	ALL   all         MAJ   the first ones that are a majority   MIN   the others
//	ONE   the first   MORE  MAJ without ONE                      LAST  the last of MAJ
//	HALF  the first half                                         REST  the other one
//
// A step whose servers are none is left out. If servers should hang or stop and are none, the
// schedule shows nothing of its own, and is nil.
func ParseSchedule(text string, n int) (s Schedule, err error) {
	majority := n/2 + 1
	sets := map[string]string{
		"ALL": letters[:n], "MAJ": letters[:majority], "MIN": letters[majority:n], "ONE": letters[:1], "MORE": letters[1:majority],
		"LAST": letters[majority-1 : majority], "HALF": letters[:n/2], "REST": letters[n/2 : n],
	}
	for text := range strings.SplitSeq(text, ", ") {
		last := strings.LastIndexByte(text, ' ') + 1
		if set, ok := sets[text[last:]]; ok {
			text = text[:last] + set
			if set == "" && (strings.HasPrefix(text, string(hang)) || strings.HasPrefix(text, string(stop))) {
				return nil, nil
			} else if set == "" {
				continue
			}
		}
		step, err := ParseStep(text)
		if err != nil {
			return nil, err
		}
		s = append(s, step)
	}
	return s, nil
}
