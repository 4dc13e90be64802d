package matrix

import (
	_ "embed" // for the debate
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/report"
)

//go:embed arguments.json
var debate []byte

// Arguments is the debate between Kleppmann and antirez of February 2016, point by point,
// with the result's evidence for each. Their statements are paraphrased.
func (r Result) Arguments() []report.Argument {
	var all []report.Argument
	if err := json.Unmarshal(debate, &all); err != nil {
		panic("arguments.json: " + err.Error()) // a test reads it
	}
	for i := range all {
		all[i].Evidence = r.evidence(all[i].Evidence)
	}
	return all
}

// evidence describes results, without those that were not played.
func (r Result) evidence(list []report.Evidence) []report.Evidence {
	verdicts := r.Verdicts()
	var shown []report.Evidence
	for _, e := range list {
		switch {
		case e.Curve != "":
			if r.Plan.CurveSeeds == 0 {
				continue
			}
			e.Text = "curve: " + e.Text
		case e.Scenario != "":
			played, broken := 0, 0
			for _, v := range verdicts {
				if v.Scenario == e.Scenario {
					played++
					if len(v.Seen) > 0 {
						broken++
					}
				}
			}
			if played == 0 {
				continue
			}
			e.Text = fmt.Sprintf("%s: breaks %d of %d designs", e.Scenario, broken, played)
		default:
			d, err := designs.ByName(e.Design)
			if err != nil || !slices.Contains(r.Plan.Faults, e.Fault) || !slices.Contains(r.Plan.Designs, e.Design) || r.of(ofCell, e.Fault, e.Design).Runs == 0 {
				continue
			}
			c := r.cell(e.Fault, d)
			e.Text = fmt.Sprintf("%s under %s: %s of %d", e.Design, e.Fault, c.Word(), c.Runs)
		}
		shown = append(shown, e)
	}
	return shown
}
