//go:build race

package search

// raceDetector: the race detector is on, with which the simulation is ten times slower.
const raceDetector = true
