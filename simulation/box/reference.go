package box

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Reference is what the lock of the Redis document showed in the fixed schedules: on several servers Redlock,
// on one server SET NX PX with a delete that compares.
type Reference struct {
	// Name and Version are the client's, Servers are Count servers.
	Name    string `json:"name"`
	Version string `json:"version"`
	Servers string `json:"servers"`
	Count   int    `json:"count"`
	// Commit is that of this code, and Day when it was recorded.
	Commit string `json:"commit"`
	Day    string `json:"day"`
	// Faults has the kinds of findings that came again, by fault.
	Faults map[string][]Kind `json:"faults"`
}

//go:embed reference.json
var referenceList []byte

// referenceFor returns the reference for clients of n servers.
func referenceFor(n int) (r Reference) {
	var all []Reference
	if err := json.Unmarshal(referenceList, &all); err != nil {
		panic("reference.json: " + err.Error()) // a test reads it
	}
	for _, r = range all {
		if (r.Count == 1) == (n == 1) {
			break
		}
	}
	return r
}

// shows reports whether the reference shows a finding. Where it has two holders, late writes follow.
func (r Reference) shows(fault string, kind Kind) bool {
	found := r.Faults[fault]
	return slices.Contains(found, kind) || (kind == StaleWrite || kind == LostUpdate) && slices.Contains(found, TwoHolders)
}

// words says what the reference shows under a fault.
func (r Reference) words(fault string) string {
	var all []string
	for _, kind := range r.Faults[fault] {
		all = append(all, string(kind))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// about says what the reference is.
func (r Reference) about() string {
	return fmt.Sprintf("%s %s, %d x %s, recorded on %s at commit %s", r.Name, r.Version, r.Count, r.Servers, r.Day, r.Commit)
}
