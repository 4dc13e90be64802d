// Package testbed is a program for testing your own locks. For each lock it prints a row of the
// matrix beside a few well-known locks, and timelines, and it searches for the
// smallest schedule that breaks the lock. It alone answers where a lock stands that isn't among the
// designs.
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
// The program's commands are those of redlocksim. Without a command it prints the row, and
// run and explore use the first design:
//
//	mine                                       the row, and the page testbed.html
//	mine run pause -seed 3                     one run under a fault, with its timeline
//	mine run S8                                one run of a scenario
//	mine run S1 -schedule faults.json          the same clients, with other faults
//	mine explore                               random schedules; findings are shrunk and saved in files
//	mine replay redlock-mixed-mine-....json    repeat the run of such a file
package testbed
