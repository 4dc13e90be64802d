package box

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Case is a schedule that every client is put through, and the fault that it is about.
type Case struct {
	Fault    string   `json:"fault"`
	Title    string   `json:"title"`
	Schedule Schedule `json:"schedule"`
	// Servers is how many servers it is for, the first ones.
	Servers int `json:"servers"`
}

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

//go:embed cases.txt
var caseList string

// Cases returns the cases for n servers, 1 to 9.
func Cases(n int) []Case {
	var all []Case
	for _, block := range strings.Split(caseList, "\n\n") {
		var c Case
		left := false
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			text, isStep := strings.CutPrefix(line, "  ")
			switch fault, title, ok := strings.Cut(line, ": "); {
			case line == "" || strings.HasPrefix(line, "#"), isStep && left:
			case isStep:
				step, needed, err := expand(text, c.Servers)
				if err != nil {
					panic(fmt.Sprintf("cases.txt: %s: %v", c.Title, err)) // a test reads it
				}
				left = needed
				if step.Do != "" {
					c.Schedule = append(c.Schedule, step)
				}
			case ok:
				c.Fault, c.Title, c.Servers = fault, title, serversFor(fault, n)
				left = c.Servers == 0
			default:
				panic("cases.txt: " + line)
			}
		}
		if len(c.Schedule) > 0 && !left {
			all = append(all, c)
		}
	}
	return all
}

// ParseSchedule reads steps in which words may stand for some of n servers, as in the cases.
func ParseSchedule(steps []string, n int) (Schedule, error) {
	var s Schedule
	for _, text := range steps {
		step, _, err := expand(text, n)
		if err != nil {
			return nil, err
		}
		if step.Do != "" {
			s = append(s, step)
		}
	}
	return s, nil
}

// Faults returns the faults of the cases, in their order.
func Faults() []string {
	var all []string
	for _, c := range Cases(4) {
		if !slices.Contains(all, c.Fault) {
			all = append(all, c.Fault)
		}
	}
	return all
}

// expand reads a step in whose text words stand for servers. The step is empty if its servers
// are none; needed then says that the case needs them.
func expand(text string, n int) (step Step, needed bool, err error) {
	majority := n/2 + 1
	sets := map[string]string{
		"ALL": letters[:n], "MAJ": letters[:majority], "MIN": letters[majority:n], "ONE": letters[:1], "MORE": letters[1:majority],
		"LAST": letters[majority-1 : majority], "HALF": letters[:n/2], "REST": letters[n/2 : n],
	}
	words := strings.Fields(text)
	last := len(words) - 1
	if set, ok := sets[words[last]]; ok {
		if set == "" {
			// Without these the case shows nothing of its own.
			return Step{}, words[0] == string(hang) || words[0] == string(stop), nil
		}
		words[last] = set
	}
	step, err = ParseStep(strings.Join(words, " "))
	return step, false, err
}
