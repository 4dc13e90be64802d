// Package mutants breaks the library's safety lines one at a time and records which
// check notices. A check that has never failed proves nothing, so each of these mistakes
// must be caught, and by the check that is meant to catch it.
//
// A Marker above each safety line is a comment that states the guarantee. A Mutant names
// a marker and describes the change to the line below it, see mutants.txt. It is built
// with go build's -overlay, so the source files stay unchanged, and then run against its
// detectors, cheapest first:
//
//   - the detector that is expected to catch it: a scenario or a search with random
//     faults, run by the program in the folder detector; or a package's tests, where the
//     simulation has a model instead of the real code (Lua scripts, a guard's store);
//   - all scenarios and all searches;
//   - all tests of the packages that the mutant changes.
//
// The first catch ends the run. A mutant that nothing catches has survived: a check is
// missing. If only another detector catches it, that may be chance, so it counts as
// caught only if the expected detector catches it. The expected detectors also run on
// the unmodified source, because a detector that always fails would catch everything.
package mutants
