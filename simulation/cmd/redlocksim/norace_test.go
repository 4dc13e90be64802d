//go:build !race

package main

// raced: the race detector makes runs many times slower.
const raced = false
