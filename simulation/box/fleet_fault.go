package box

// FleetFault describes a fault of a Fleet's servers.
type FleetFault struct {
	// Name is the fault's name. Values is an example of its values as JSON, "" if it takes none.
	Name, Values string
	// Does is what it does to clients. Healed is what they see when it is healed, "" if it is over at once.
	Does, Healed string
}

// The faults of a Fleet.
const (
	faultStop  = "stop"
	faultPause = "pause"
	faultCut   = "cut"
	faultDelay = "delay"
	faultClock = "clock"
	faultFlush = "flush"
)

// FleetFaults describes all faults of a Fleet.
func FleetFaults() []FleetFault {
	return []FleetFault{
		{faultStop, `{"data":"kept"}`, "The server is killed (SIGKILL), and its data is lost unless it is to be kept. Connections break, and new ones are closed at once.",
			"It starts again: empty, or with all that it had answered."},
		{faultPause, "", "The server stands still (SIGSTOP). Connections open, and nothing is answered.",
			"It goes on, and carries out what it was sent meanwhile, also by clients that have given up."},
		{faultCut, "", "Connections break, and new ones are closed at once. The server goes on, and keys expire.",
			"New connections work."},
		{faultDelay, `{"ms":200}`, "Each answer is late by so many milliseconds, 1 to 60000, half of them on the way to the server. A new connection takes as long again. A client that doesn't wait for an answer before it sends again may wait for twice as long.",
			"What is on its way arrives at once."},
		{faultClock, `{"ms":60000}`, "The server's clock is ahead by so many milliseconds, or behind if they are negative, up to a year: keys expire too early, or too late.",
			"The clock is right. Keys that have expired stay gone."},
		{faultFlush, "", "All keys are gone. Connections stay.", ""},
	}
}

// FaultValues are the values of a fault.
type FaultValues struct {
	// MS is a time in milliseconds, nil without one.
	MS *int64 `json:"ms,omitempty"`
	// Data says what becomes of a stopped server's data: "lost" or "kept".
	Data string `json:"data,omitempty"`
}

// dataKept and dataLost are what may become of a stopped server's data.
const (
	dataKept = "kept"
	dataLost = "lost"
)
