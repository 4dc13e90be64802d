package book_test

import (
	"fmt"
	"strings"
)

func init() {
	generators["rollouts"] = func([]string) (string, error) { return rolloutTable() }
}

// rolloutTable has a row for each change: its steps in the right order, the wrong order,
// and what is lost.
func rolloutTable() (string, error) {
	const runs = 2 // to see whether clients are refused meanwhile
	var rows [][]string
	for _, r := range rollouts() {
		if r.Wrong != "" {
			o, err := r.Play(r.Shows, 1)
			if err != nil {
				return "", err
			}
			what := fmt.Sprintf("%s. Run %d: ", r.Wrong, r.Shows)
			if o.Tokenless > 0 {
				what += fmt.Sprintf("%d leases without a token while the resource wants one", o.Tokenless)
			} else {
				kinds := make([]string, len(o.Kinds))
				for i, kind := range o.Kinds {
					kinds[i] = string(kind)
				}
				what += strings.Join(kinds, ", ")
			}
			rows[len(rows)-1][3] = what
			continue
		}
		o, err := r.Play(0, runs)
		if err != nil {
			return "", err
		}
		var steps []string
		for i, s := range r.Steps[1:] {
			steps = append(steps, fmt.Sprintf("%d. %s", i+1, s.Title))
		}
		lost := "nothing"
		if o.Mismatched > 0 {
			lost = "old clients are refused"
		}
		rows = append(rows, []string{r.Title, strings.Join(steps, "<br>"), lost, ""})
	}
	return table("change | the right order | lost meanwhile | the wrong order", rows), nil
}
