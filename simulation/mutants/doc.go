// Package mutants breaks the library's safety lines one at a time, and looks who
// notices. A check that never fails proves nothing: what proves something is that
// each of these mistakes is caught, and by whom.
//
// Each safety line has a Marker above it, a comment that states the guarantee. A Mutant
// names a marker, and says as plain data what becomes of the line below it. It is built
// with go build's -overlay, so that the source itself stays as it is, and brought before
// its judges, in the order of what they cost:
//
//   - the judge that is expected to catch it: a scenario or a search with random
//     faults, which the program in the folder trial plays, or a package's tests, for
//     what the simulation has a model of its own for (Lua scripts, a guard's store);
//   - all scenarios and all searches;
//   - all tests of the packages that it changed.
//
// The first catch ends it. A mutant that nobody catches has survived: then a check is
// missing. One that was caught by another than its own judge may have been caught by
// chance, and counts as caught only when its own sees it. These are shown the source
// as it is, too, for a judge that always says no catches everything.
package mutants
