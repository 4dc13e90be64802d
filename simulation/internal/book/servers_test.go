package book_test

import "github.com/redquorum/redlock/simulation/box"

func init() { generators["servers-faults"] = serversFaults }

// serversFaults is the table of the faults that the servers of redlocksim servers have.
func serversFaults([]string) (string, error) {
	var rows [][]string
	for _, fault := range box.FleetFaults() {
		values, healed := "", "It is over at once."
		if fault.Values != "" {
			values = "`" + fault.Values + "`"
		}
		if fault.Healed != "" {
			healed = fault.Healed
		}
		rows = append(rows, []string{"**" + fault.Name + "**", values, fault.Does, healed})
	}
	return table("fault | value, for example | what it does | when it is healed", rows), nil
}
