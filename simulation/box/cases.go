package box

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Case is a schedule that every client is put through, and the fault that it is about.
type Case struct {
	Fault, Title string
	Schedule     Schedule
	Servers      int // how many it is for, the first ones
}

//go:embed cases.json
var caseList []byte

// Cases returns the cases for n servers, 1 to 9.
func Cases(n int) (all []Case) {
	var list []struct{ Fault, Title, Schedule string }
	if err := json.Unmarshal(caseList, &list); err != nil {
		panic("cases.json: " + err.Error()) // a test reads it
	}
	for _, l := range list {
		c := Case{Fault: l.Fault, Title: l.Title, Servers: serversFor(l.Fault, n)}
		if c.Servers == 0 {
			continue
		}
		var err error
		if c.Schedule, err = ParseSchedule(l.Schedule, c.Servers); err != nil {
			panic(fmt.Sprintf("cases.json: %s: %v", c.Title, err))
		}
		if c.Schedule != nil {
			all = append(all, c)
		}
	}
	return all
}
