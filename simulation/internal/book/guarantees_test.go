package book_test

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

func init() {
	generators["places"] = func([]string) (string, error) { return places() }
}

// asked are the guarantees of package quorum, and the lines that keep them.
var asked = []struct {
	question string
	markers  []string
}{
	{"Where is there one holder?", []string{"two-quorums-meet", "quorum-of-all", "free-key-only", "start-before-send", "drift-allowance", "restart-quarantine", "quarantine-checked", "grant-checked-on-arrival"}},
	{"Where do tokens rise?", []string{"counter-rises", "largest-token", "lower-is-raised", "older-counter-is-low", "grant-within-the-bound"}},
	{"Where are waits bounded?", []string{"key-expires", "decided-early", "instance-timeout", "next-is-notified"}},
	{"Where is a holder told the truth?", []string{"unknown-is-no-grant", "larger-of-two-clocks", "context-at-deadline", "context-ends-with-lease"}},
	{"Where is nothing left behind?", []string{"rollback", "delete-after-set", "unknown-may-be-set", "delete-stays-pending", "delete-repeated"}},
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
