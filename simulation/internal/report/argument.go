package report

// Argument is one point of a debate, with the evidence of the runs.
type Argument struct {
	// ID names it within the report: letters, digits and dashes.
	ID string `json:"id"`
	// Claim is the point in a few words.
	Claim string `json:"claim"`
	Sides []Side `json:"sides"`
	// Verdict says who is right, and Why says why.
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	// Evidence are the parts of the page that show it.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Side is the position of one person.
type Side struct {
	Name  string `json:"name"`
	Words string `json:"words"`
}

// Evidence names a part of the report: a scenario, a curve, or a cell by its design
// and fault.
type Evidence struct {
	Text     string `json:"text"`
	Scenario string `json:"scenario,omitempty"`
	Curve    string `json:"curve,omitempty"`
	Design   string `json:"design,omitempty"`
	Fault    string `json:"fault,omitempty"`
}

func (e Evidence) anchor() string {
	switch {
	case e.Scenario != "":
		return scenarioAnchor(e.Scenario)
	case e.Curve != "":
		return curveAnchor(e.Curve)
	}
	return cellAnchor(e.Design, e.Fault)
}

// The anchors of a page's parts.

func scenarioAnchor(id string) string        { return "scenario-" + safeID(id) }
func curveAnchor(id string) string           { return "curve-" + safeID(id) }
func faultAnchor(name string) string         { return "fault-" + safeID(name) }
func cellAnchor(design, fault string) string { return "cell-" + safeID(design) + "-" + safeID(fault) }
