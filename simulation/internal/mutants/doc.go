// Package mutants breaks the library's safety lines one at a time and records which test
// notices. A check that has never failed proves nothing, so each of these mistakes must be
// caught, by the test that is meant to catch it.
//
// A line has a mutant if its loss would hurt a user's data or keep a free lock from callers,
// and no other mutant shows that already. Texts, validation, hooks and metrics have none.
//
// A Marker above each such line is a comment that states the guarantee. A mutant names
// a marker and describes the change to the line below it, see mutants.txt. It changes the body of a function or
// a script, in a copy that the go tool's -overlay puts in the place of the source.
//
// Compiling and linking take longer than nearly every test. So all mutants are in one copy, switched off (see
// switches.go). Each package's test program is built once from that copy, and runs once for each mutant, which an
// environment variable switches on.
//
// A mutant that its test doesn't catch has survived: the test is too weak. The same tests
// also run with all mutants switched off, because a test that always fails would catch
// everything.
package mutants
