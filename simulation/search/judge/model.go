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

// concerns reports whether o matters to the question.
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

// state is the state of one key. Each question uses some of the fields.
type state struct {
	holder  string        // exclusion: "" is nobody
	token   fencing.Token // tokens: the last one; resource: the largest one so far
	version uint64
	value   int64
}

// model is for one key and one question at a time.
var model = porcupine.Model{
	Partition: partition,
	Init:      func() any { return state{} },
	Step: func(before, input, _ any) (bool, any) {
		return before.(state).step(input.(asked))
	},
	DescribeOperation: func(input, _ any) string { return input.(asked).op.String() },
	DescribeState:     func(s any) string { return s.(state).String() },
}

// partition groups the operations by question and key.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	type group struct {
		question question
		key      string
	}
	indexes := map[group]int{}
	var groups [][]porcupine.Operation
	for _, o := range history {
		a := o.Input.(asked)
		of := group{a.question, a.op.Key}
		i, ok := indexes[of]
		if !ok {
			i = len(groups)
			indexes[of] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], o)
	}
	return groups
}

func (s state) step(a asked) (bool, state) {
	switch a.question {
	case exclusion:
		return s.exclude(a.op)
	case tokens:
		return a.op.Token > s.token, state{token: a.op.Token}
	default:
		return s.access(a.op)
	}
}

func (s state) exclude(o Operation) (bool, state) {
	if o.Kind == Lock {
		return s.holder == "", state{holder: o.Client}
	}
	return s.holder == o.Client, state{}
}

// access is the resource: one value, whose version counts its writes, and the largest token
// so far.
//
// An Unknown operation is always possible: if it can't have been executed here, it wasn't.
// If it could have been but wasn't, it may as well come after all others.
func (s state) access(o Operation) (bool, state) {
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
