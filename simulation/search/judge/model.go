package judge

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/redquorum/redlock/fencing"
)

// question is one of the three that are asked of a history.
type question uint8

const (
	exclusion question = 1 + iota
	tokens
	resource
)

// concerns reports whether the question looks at o.
func (q question) concerns(o Operation) bool {
	switch q {
	case exclusion:
		return o.Kind == Unlock || o.Kind == Lock && o.Outcome == Done
	case tokens:
		return o.Kind == Lock && o.Outcome == Done && o.Token != 0
	default:
		return o.Kind == Read || o.Kind == Write
	}
}

// asked is an operation under a question.
type asked struct {
	question question
	op       Operation
}

// state is where one key stands under one question, which uses the fields that it
// needs.
type state struct {
	holder  string        // exclusion: "" is nobody
	token   fencing.Token // tokens: the last one; resource: the largest that it has seen
	version uint64
	value   int64
}

// model plays one key under one question at a time.
var model = porcupine.Model{
	Partition: partition,
	Init:      func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		return before.(state).step(input.(asked))
	},
	DescribeOperation: func(input, _ any) string { return input.(asked).op.String() },
	DescribeState:     func(s any) string { return s.(state).String() },
}

// partition deals the operations out by question and key, in the order in which
// these first occur.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	type part struct {
		question question
		key      string
	}
	places := map[part]int{}
	var parts [][]porcupine.Operation
	for _, o := range history {
		a := o.Input.(asked)
		of := part{a.question, a.op.Key}
		i, ok := places[of]
		if !ok {
			i = len(parts)
			places[of] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

func (s state) step(a asked) (bool, state) {
	switch a.question {
	case exclusion:
		return s.exclude(a.op)
	case tokens:
		return a.op.Token > s.token, state{token: a.op.Token}
	default:
		return s.act(a.op)
	}
}

func (s state) exclude(o Operation) (bool, state) {
	if o.Kind == Lock {
		return s.holder == "", state{holder: o.Client}
	}
	return s.holder == o.Client, state{}
}

// act is the resource: one value, whose version counts its writes, and the largest
// token that it has been shown.
//
// An Unknown operation is always possible: where it can't have been carried out it
// wasn't. That it can have been and wasn't is covered too, since it may as well
// come after all the others.
func (s state) act(o Operation) (bool, state) {
	old := o.Token != 0 && o.Token < s.token
	after := s
	after.token = max(s.token, o.Token)
	switch {
	case o.Outcome == Refused:
		return old, s
	case o.Kind == Read:
		return o.Outcome == Unknown || o.Version == s.version && o.Value == s.value, after
	case old || o.Version != s.version:
		return o.Outcome == Unknown, s
	}
	after.version, after.value = s.version+1, o.Value
	return true, after
}

// String is the state in words.
func (s state) String() string {
	switch {
	case s.holder != "":
		return "held by " + s.holder
	case s == state{}:
		return "free, version 0"
	}
	return fmt.Sprintf("token %d, version %d, value %d", s.token, s.version, s.value)
}
