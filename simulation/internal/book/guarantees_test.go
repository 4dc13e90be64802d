package book_test

import (
	"context"
	"fmt"
	"strings"

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
	{"Where is there one holder?", []string{"two-quorums-meet", "quorum-of-all", "free-key-only", "start-before-send", "drift-allowance", "restart-quarantine", "quarantine-checked", "grant-checked-on-arrival", "one-server-one-vote", "contexts-end-first", "pass-needs-quorum"}},
	{"Where do tokens rise?", []string{"counter-rises", "largest-token", "lower-is-raised", "older-counter-is-low", "grant-within-the-bound"}},
	{"Where are waits bounded?", []string{"key-expires", "decided-early", "instance-timeout", "next-is-notified"}},
	{"Where is a holder told the truth?", []string{"unknown-is-no-grant", "larger-of-two-clocks", "context-at-deadline", "context-ends-with-lease", "release-tells"}},
	{"Where is nothing left behind?", []string{"rollback", "rollback-detached", "delete-everywhere", "delete-after-set", "unknown-may-be-set", "delete-stays-pending", "delete-repeated"}},
}

// places has a row for each question, with the lines that answer it, and a mutant of each.
func places() (string, error) {
	source, err := mutants.Open(context.Background(), "..")
	if err != nil {
		return "", err
	}
	links, broken := map[string]string{}, map[string]string{} // broken: a mutant of a line
	for _, m := range source.Markers {
		links[m.Name] = fmt.Sprintf("[%s](../%s#L%d)", m.Name, m.File, m.Line)
	}
	for _, m := range mutants.All() {
		for _, e := range m.Edits {
			if name := broken[e.Marker]; name == "" || strings.HasPrefix(name, "random-") { // those need many runs to be noticed
				broken[e.Marker] = m.Name
			}
		}
	}
	var rows [][]string
	for _, a := range asked {
		var lines []string
		for _, name := range a.markers {
			if links[name] == "" || broken[name] == "" {
				return "", fmt.Errorf("there is no marker %q, or no mutant", name)
			}
			lines = append(lines, fmt.Sprintf("%s (`%s`)", links[name], broken[name]))
		}
		rows = append(rows, []string{a.question, strings.Join(lines, ", ")})
	}
	return table("question | lines (and a mutant of each)", rows), nil
}
