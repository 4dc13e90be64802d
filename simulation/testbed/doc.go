// Package testbed is a program for testing your own locks. Each lock gets its row of the
// matrix beside a few well-known locks, its curves and timelines, and a search for the
// smallest schedule that breaks it.
//
//	func main() {
//		testbed.Main(designs.Design{
//			Name: "mine", Title: "what it is", Servers: 1,
//			Apply: designs.OnOneServer(designs.Recipe{Acquire: ..., Extend: ..., Release: ...}),
//		})
//	}
//
// For a lock that is no Recipe, write a simulation.Locker and use designs.LockBy.
//
// The program's commands:
//
//	mine                                       the row, the curves, and the page testbed.html
//	mine run pause -seed 3                     one run under a fault, with its timeline
//	mine run S8                                one run of a scenario
//	mine run S1 -schedule faults.json          the same clients, with faults that you wrote
//	mine explore                               random schedules; what is found is made small, and kept in a file
//	mine replay redlock-mixed-mine-....json    play such a file again
package testbed
