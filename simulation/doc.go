// Package simulation plays client processes against instances in virtual time, with
// faults, and checks what comes of it. The processes run the real
// quorum.Coordinator; what is simulated is what it stands on: clocks, network,
// servers, pauses, crashes, and a resource that the locks protect.
//
//	r, err := simulation.Run(seed, simulation.Config{}, simulation.Schedule{
//		{Kind: simulation.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
//	}, workload)
//
// # How it works
//
// A run takes place in a testing/synctest bubble, which serves for one thing: to
// tell when all goroutines of the code under test stand. The bubble's own time
// never moves. One goroutine, the driver, takes one event after another from a
// queue in virtual time, each of which wakes at most one goroutine of one process,
// and waits until everything that follows from it has come to rest. What the code
// asked for meanwhile (calls, timers) lies in an inbox, in any order; the driver
// sorts it by process, kind, server and content before it does anything with it.
//
// So a Result follows from the seed, the Config, the Schedule and the Workload
// alone. All randomness is a hash of the seed and of what it is for, so that taking
// one fault out of a Schedule leaves everything else as it was.
//
// # Time
//
// True time is the driver's. Each process has a monotonic and a wall clock, each
// server a wall clock, and each of these its own rate, steps and standstills. Code
// takes no virtual time: a pause by time never falls between a look at the lease
// and the write that follows, a pause by operation (Fault.Nth) does.
//
// # What a crash is
//
// Nothing can end another goroutine. The workload of a process that has crashed
// ends at the next thing it asks for; the library's goroutines run on, cut off:
// each call fails at once, each timer is due, the Coordinator is closed, and
// nothing that they do is seen by anybody.
package simulation
