package book_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/mutants"
)

func init() {
	generators["guarantees"] = func([]string) (string, error) { return guarantees() }
	generators["places"] = func([]string) (string, error) { return places() }
	generators["guarded"] = func([]string) (string, error) { return guarded() }
}

// guarantees has a table for each group of guarantees: a row for each marker, with the mutants of
// its line.
func guarantees() (string, error) {
	markers, err := markersByName()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	shown := map[string]bool{}
	for _, group := range mutants.Groups() {
		var order []string // markers in the order of the mutants
		broken := map[string][]string{}
		for _, m := range group.Mutants {
			for _, name := range m.Markers() {
				if broken[name] == nil {
					order = append(order, name)
				}
				broken[name] = append(broken[name], m.Name)
			}
		}
		var rows [][]string
		for _, name := range order {
			m, is := markers[name]
			if !is {
				return "", fmt.Errorf("there is no marker %q", name)
			}
			if shown[name] {
				return "", fmt.Errorf("%s has mutants in two groups", name)
			}
			shown[name] = true
			line := fmt.Sprintf("[%s:%d](../../%s#L%d)", m.File, m.Line, m.File, m.Line)
			rows = append(rows, []string{m.Guarantee, line, "`" + strings.Join(broken[name], "`<br>`") + "`"})
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n", group.Title, group.Intro, table("guarantee | line | mutant", rows))
	}
	return b.String(), nil
}

// asked are the questions that a maintainer asks first, and the lines that answer them.
var asked = []struct {
	question string
	markers  []string
}{
	{"Where does the validity count from before the first SET?", []string{"start-before-send", "round-time-counts", "validity-from-the-start"}},
	{"Where does the vote of a restarted server stop to count?", []string{"run-is-compared", "grant-checked-on-arrival", "quarantine-checked", "run-id-changed", "restart-quarantine"}},
	{"Where do tokens rise?", []string{"token-above-counter", "older-counter-from-clock", "grant-bounded", "lower-is-raised", "largest-token"}},
	{"Where is nothing left behind?", []string{"rollback", "delete-after-set", "unknown-may-be-set", "delete-stays-pending", "delete-repeated"}},
	{"Where does the context end in time?", []string{"drift-allowance", "larger-of-two-clocks", "context-at-deadline", "context-after-suspension"}},
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
	return table("question | the lines, in the order of an Acquire | a mutant", rows), nil
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

// guarded says how much is marked.
func guarded() (string, error) {
	markers, err := markersByName()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d markers, %d mutants.", len(markers), len(mutants.All())), nil
}
