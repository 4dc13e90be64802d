package box

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Case is a schedule that every client is put through, and the fault that it is about.
type Case struct {
	Fault, Title string
	Schedule     Schedule
	Servers      int // how many it is for, the first ones
}

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

// clockFault needs servers with clocks of their own, and ofProcesses are the faults that embedded
// servers don't have.
const clockFault = "clock"
