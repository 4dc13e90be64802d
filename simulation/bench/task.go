package main

import "time"

// Task is what a client is to do.
type Task struct {
	Case
	Setting
	Addrs []string // of the servers
}

// Setting is how a case is measured.
type Setting struct {
	TTL  time.Duration
	Long time.Duration // how long the measurement takes
	Hold time.Duration // how long a holder keeps the lock
}

// Result is what was measured in a client.
type Result struct {
	Usage

	// Of each worker, how long each cycle took that succeeded.
	Cycles  [][]time.Duration `json:",omitempty"`
	Longest time.Duration     // wait for a lock
	Failed  int               // cycles, and workers that hang

	// Or of leases: their live memory in bytes, how long it took to acquire them, and how many were lost.
	Heap     float64
	Acquired time.Duration
	Lost     int
}

// Usage is what a client used during the measurement.
type Usage struct {
	Elapsed, CPU time.Duration
	Mallocs      uint64
	Goroutines   int // the largest number
}
