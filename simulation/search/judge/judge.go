package judge

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Answer is the answer to one question.
type Answer string

// The answers.
const (
	// Holds: there is an order that explains the history.
	Holds Answer = "holds"
	// Broken: there is none.
	Broken Answer = "broken"
	// Undecided: the time ran out.
	Undecided Answer = "undecided"
)

// Verdict has the answers to the package's three questions, over all keys.
type Verdict struct{ Exclusion, Tokens, Resource Answer }

// Holds reports whether all three hold.
func (v Verdict) Holds() bool {
	return v == Verdict{Exclusion: Holds, Tokens: Holds, Resource: Holds}
}

// String is the verdict in one line.
func (v Verdict) String() string {
	return fmt.Sprintf("exclusion %v, tokens %v, resource %v", v.Exclusion, v.Tokens, v.Resource)
}

// Check judges a history. The order of the operations doesn't matter. The timeout is for
// each question. 0: none; then it may take very long if dozens of operations overlap.
//
// All errors are ErrHistory.
func Check(operations []Operation, timeout time.Duration) (Verdict, error) {
	if err := validate(operations); err != nil {
		return Verdict{}, err
	}
	ask := func(q question) Answer {
		switch porcupine.CheckOperationsTimeout(model, history(operations, q), timeout) {
		case porcupine.Ok:
			return Holds
		case porcupine.Illegal:
			return Broken
		default:
			return Undecided
		}
	}
	return Verdict{Exclusion: ask(exclusion), Tokens: ask(tokens), Resource: ask(resource)}, nil
}

// Visualize writes a self-contained HTML page that shows the history for each question,
// with an order that explains it, or the longest part of one. The timeout is for all
// questions together.
//
// Errors are ErrHistory, or w's.
func Visualize(w io.Writer, operations []Operation, timeout time.Duration) error {
	if err := validate(operations); err != nil {
		return err
	}
	all := history(operations, exclusion, tokens, resource)
	_, info := porcupine.CheckOperationsVerbose(model, all, timeout)
	return porcupine.Visualize(model, info, w)
}

func validate(operations []Operation) error {
	for i, o := range operations {
		if err := o.validate(); err != nil {
			return fmt.Errorf("%w: operation %d (%v): %w", ErrHistory, i, o, err)
		}
	}
	return nil
}

// history converts the operations that matter to the questions.
func history(operations []Operation, questions ...question) []porcupine.Operation {
	clients := map[string]int{}
	end := time.Duration(0)
	for _, o := range operations {
		clients[o.Client] = 0
		end = max(end, o.Call, o.Return)
	}
	for i, name := range slices.Sorted(maps.Keys(clients)) {
		clients[name] = i
	}
	var all []porcupine.Operation
	for _, q := range questions {
		for _, o := range operations {
			if !q.concerns(o) {
				continue
			}
			p := porcupine.Operation{ClientId: clients[o.Client], Input: asked{question: q, op: o}, Call: 2 * int64(o.Call), Return: 2 * int64(o.Return)}
			if o.Outcome == Unknown {
				p.Return = 2*int64(end) + 2 // after everything else
			}
			if q == tokens {
				// To porcupine both ends belong to an operation. Here a Lock that begins at the
				// very moment when another one returns is later.
				p.Call = min(p.Call+1, p.Return)
			}
			all = append(all, p)
		}
	}
	return all
}
