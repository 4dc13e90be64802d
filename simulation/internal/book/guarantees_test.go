package book_test

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

func init() {
	generators["places"] = func([]string) (string, error) { return places() }
}

// asked are the questions that a maintainer asks first, and the lines that answer them.
var asked = []struct {
	question string
	markers  []string
}{
	{"Where does the validity count from before the first SET?", []string{"start-before-send", "round-time-counts"}},
	{"Where does the vote of a restarted server stop to count?", []string{"run-id-changed", "restart-quarantine", "quarantine-checked", "grant-checked-on-arrival", "run-is-compared"}},
	{"Where do tokens rise?", []string{"counter-rises", "largest-token", "lower-is-raised", "older-counter-is-low", "grant-within-the-bound"}},
	{"Where is nothing left behind?", []string{"rollback", "delete-after-set", "unknown-may-be-set", "delete-stays-pending", "delete-repeated"}},
	{"Where does the context end in time?", []string{"drift-allowance", "larger-of-two-clocks", "context-at-deadline", "context-ends-with-lease", "context-after-suspension"}},
}

// places has a row for each line that answers a question, with a mutant of it.
func places() (string, error) {
	markers, err := markersByName()
	if err != nil {
		return "", err
	}
	broken := map[string]string{}
	for _, m := range mutants.All() {
		for _, name := range m.Markers() {
			broken[name] = m.Name
		}
	}
	var rows [][]string
	for _, a := range asked {
		question := a.question
		for _, name := range a.markers {
			m, is := markers[name]
			if !is || broken[name] == "" {
				return "", fmt.Errorf("there is no marker %q, or no mutant", name)
			}
			rows = append(rows, []string{question, fmt.Sprintf("%s: [%s:%d](../%s#L%d)", m.Guarantee, m.File, m.Line, m.File, m.Line), "`" + broken[name] + "`"})
			question = ""
		}
	}
	return table("question | the lines that decide it, the main one first | a mutant", rows), nil
}

func markersByName() (map[string]mutants.Marker, error) {
	source, err := mutants.Open(context.Background(), "..")
	if err != nil {
		return nil, err
	}
	list, err := source.Markers()
	if err != nil {
		return nil, err
	}
	byName := map[string]mutants.Marker{}
	for _, m := range list {
		byName[m.Name] = m
	}
	return byName, nil
}
