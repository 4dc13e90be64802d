package box

import (
	"fmt"
	"slices"
	"strings"
)

// Schedule is what happens in a play, step by step.
type Schedule []Step

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
	for text := range strings.SplitSeq(text, ",") {
		words, none := strings.Fields(text), false
		for i, word := range words {
			if set, ok := sets[word]; ok {
				words[i], none = set, set == ""
			}
		}
		if none && (words[0] == string(hang) || words[0] == string(stop)) {
			return nil, nil
		} else if none {
			continue
		}
		step, err := ParseStep(strings.Join(words, " "))
		if err != nil {
			return nil, err
		}
		if strings.Trim(step.Servers, letters[:n]) != "" {
			return nil, fmt.Errorf("box: the step %q names a server that isn't there; there are %d, %s", step, n, letters[:n])
		}
		s = append(s, step)
	}
	return s, nil
}

// String returns the steps with commas between them.
func (s Schedule) String() string {
	var steps []string
	for _, step := range s {
		steps = append(steps, step.String())
	}
	return strings.Join(steps, ", ")
}

// clients returns the names of the schedule's clients, sorted.
func (s Schedule) clients() []string {
	return slices.DeleteFunc(slices.Clone(clientNames), func(name string) bool {
		return !slices.ContainsFunc(s, func(step Step) bool { return step.Client == name })
	})
}

// undoes are the faults that a step ends, besides those of its own kind.
var undoes = map[verb][]verb{
	heal: {cut, slow, delay, hold, lose, miss}, free: {trap, snare},
	home: {move, fail}, ahead: {behind}, behind: {ahead}, right: {ahead, behind}, fail: {follow, lag},
}

// after returns the faults that there are after another step: those that go on until they are ended.
func (s Schedule) after(step Step) Schedule {
	over := append([]verb{step.Do}, undoes[step.Do]...)
	s = slices.DeleteFunc(slices.Clone(s), func(before Step) bool { return slices.Contains(over, before.Do) })
	if slices.Contains([]verb{cut, slow, delay, hold, lose, miss, trap, snare, ahead, behind, follow, lag, move, fail}, step.Do) {
		s = append(s, step)
	}
	return s
}

// withoutFaults leaves only what clients do in time.
func (s Schedule) withoutFaults() Schedule {
	return slices.DeleteFunc(slices.Clone(s), func(step Step) bool { return forms[step.Do] != clientFirst || step.Do == sends })
}
