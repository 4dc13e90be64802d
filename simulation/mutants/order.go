package mutants

// Order tells the program in the folder trial what to play. It is read from the
// standard input, as JSON.
type Order struct {
	// First are played before everything else, and alone unless Rest is set.
	First []Judge `json:"first"`
	// Rest has all scenarios and all searches played after them.
	Rest bool `json:"rest"`
	// Searches are what a Judge's Search can name.
	Searches []Search `json:"searches"`
}

// Search is many random schedules, with a design and faults under which no
// violation of some kinds may be found.
type Search struct {
	Name string `json:"name"`
	// Workload is the name of one of search.Workloads.
	Workload string `json:"workload"`
	Design   string `json:"design"`
	// Faults are the kinds of faults that are drawn.
	Faults []string `json:"faults"`
	// Except are kinds of violations that may be found.
	Except []string `json:"except,omitempty"`
	// Seeds is how many seeds are played, from 0.
	Seeds uint64 `json:"seeds"`
}

// Verdict is what trial writes to its standard output, as JSON.
type Verdict struct {
	// By is who found something that must not be, with the design and the seed; ""
	// if nobody did.
	By string `json:"by"`
	// Says is what was found.
	Says string `json:"says"`
	// Runs is how many runs were played until then.
	Runs int `json:"runs"`
	// Error is why the order couldn't be carried out.
	Error string `json:"error,omitempty"`
}
