package mutants

// Request tells the program in the folder detector what to run. The program reads it
// from its standard input, as JSON.
type Request struct {
	// First runs first, and alone unless Rest is set.
	First []Detector `json:"first"`
	// Rest adds all scenarios and all searches.
	Rest bool `json:"rest"`
	// Searches are the searches that a Detector can name.
	Searches []Search `json:"searches"`
}

// Search runs many random schedules of faults under which a design must not show any
// violation, except those of the kinds in Except.
type Search struct {
	Name string `json:"name"`
	// Workload is the name of one of search.Workloads.
	Workload string `json:"workload"`
	Design   string `json:"design"`
	// Faults are the kinds of faults in the schedules.
	Faults []string `json:"faults"`
	// Except are the kinds of violations that are allowed.
	Except []string `json:"except,omitempty"`
	// Seeds is the number of seeds, from 0.
	Seeds uint64 `json:"seeds"`
}

// DetectorResult is what a detector found. The program writes it to its standard output,
// as JSON.
type DetectorResult struct {
	// By names the scenario or search that found a violation, with the design and the
	// seed, or the failed test; "" if there is none.
	By string `json:"by"`
	// Says describes the violation.
	Says string `json:"says"`
	// Runs counts the runs up to that point.
	Runs int `json:"runs"`
	// Error says why the request failed.
	Error string `json:"error,omitempty"`
}
