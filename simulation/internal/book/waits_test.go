package book_test

import (
	"strconv"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/cells"
)

func init() {
	generators["waits"] = func([]string) (string, error) { return waitTable() }
}

// waitTable plays the locks on a master with replicas under failovers.
func waitTable() (string, error) {
	const seeds = 300
	fail, err := cells.ByName("failover")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, d := range designs.All() {
		if d.Group != designs.Replicated {
			continue
		}
		violated := 0
		for seed := range uint64(seeds) {
			r, err := fail.Play(seed, d)
			if err != nil {
				return "", err
			}
			if len(r.Log.Violations()) > 0 {
				violated++
			}
		}
		rows = append(rows, []string{"`" + d.Name + "`", d.Title, strconv.Itoa(violated)})
	}
	return table("design | what it is | violated, of 300", rows), nil
}
