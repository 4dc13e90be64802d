package browser

import (
	"encoding/json"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/cells"
	"github.com/redquorum/redlock/simulation/internal/scenarios"
	"github.com/redquorum/redlock/simulation/internal/timeline"
)

// named is a scenario, a fault of the matrix, or a design. Designs are those that the scenario has verdicts for.
type named struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Designs []named `json:"designs,omitempty"`
}

// contents returns all that a reader can choose on the page, as JSON.
func contents() ([]byte, error) {
	var all struct {
		Scenarios []named        `json:"scenarios"`
		Faults    []named        `json:"faults"`
		Designs   []named        `json:"designs"`
		Kinds     []fault.Traits `json:"kinds"`
		Signs     []string       `json:"signs"`
	}
	for _, s := range scenarios.All() {
		all.Scenarios = append(all.Scenarios, named{s.ID, s.Title, listed(s.Designs())})
	}
	for _, f := range cells.Faults() {
		all.Faults = append(all.Faults, named{Name: f.Name, Title: f.Title})
	}
	all.Designs, all.Kinds, all.Signs = listed(designs.All()), fault.All(), timeline.Legend()
	return json.Marshal(all)
}

// listed names designs, except for registered ones, which the page's engine doesn't have.
func listed(all []designs.Design) (list []named) {
	for _, d := range all {
		if d.Group != designs.Yours {
			list = append(list, named{Name: d.Name, Title: d.Title})
		}
	}
	return list
}
