// Package simulation plays client processes against instances in virtual time, with
// faults, and checks what comes of it. The processes run the real
// quorum.Coordinator, or any other Locker; what is simulated is what it stands on:
// clocks, network, servers and their replicas, pauses, crashes, and a resource that
// the locks protect.
//
// It is for everybody who holds a lock: write your critical section as a Workload,
// play it from go test under the faults that you fear, and see what the resource
// makes of it, with and without a guard.
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
// What is played: how the world is set up is the Config, what goes wrong the
// Schedule: written by hand, drawn from a seed (Draw), or found by package search.
// Both are plain data, and can be kept as JSON.
//
// # What a Result says
//
// Its Log is everything that happened, as a list of Events. Log.Violations is what the
// checks found: see the ViolationKinds. That there are none proves little where what they
// look for never came near: Log.Counts says how often that was, and Counters what there is
// to count. Log.History is what clients did and were told. As text, a trace, the Log has a
// line for each Event: the true time in milliseconds, who, and what:
//
//	1000.000000 c1 acquire A#2                       c1 sends its second request to A
//	1001.203310 A acquire c1#2 granted token=7 key=k until=11001203310
//	1002.950021 c1 hears A#2
//	1003.017000 c1 acquired k token=7 validity=9893183112
//	1500.000000 C suffers step by=15000000000
//	1500.000000 C has key=k gone
//
// "until" is the true time, in nanoseconds, at which the server will drop the key as
// things stand: validity is what its holder believes, until what is true.
//
// # Waiting
//
// The servers call those who wait for a lock when it is released, see
// quorum.Listener, each process on a connection of its own that takes its time, loses
// what links lose, and breaks with its server. With Quorum.WakeUps Off nobody is
// called, and who waits polls.
//
//	1000.211000 c2 listen D#6                        c2 opens the connection
//	1001.402117 D listen c2#6 granted
//	1005.310022 D calls c2 key=k                     it was released; "lost" if the call is
//	1006.731890 c2 called by D key=k
//
// A process has as many goroutines as its workload starts with Client.Go. What one
// asks of the library begins when all that went on in the process has come to rest,
// one goroutine after the other in a drawn order.
//
// # Time
//
// True time is the driver's. Each process has a monotonic and a wall clock, each
// server a wall clock, and each of these its own rate, steps and standstills. Code
// takes no virtual time: a pause by time never falls between a look at the lease
// and the write that follows, a pause by operation (Fault.Nth) does.
//
// Nor does it fall between two lines of the library. A pause at a reading of the clock
// does (the Op "clock"): the process stops before its n-th reading, or after it. It then
// runs ahead: its clock shows the end of the pause at once, and what it asks for waits
// until then. Such a run is played twice, the first time to find the reading.
//
// # What a crash is
//
// Nothing can end another goroutine. The workload of a process that has crashed
// ends at the next thing it asks for; the library's goroutines run on, cut off:
// each call fails at once, each timer is due, the Coordinator is closed, and
// nothing that they do is seen by anybody. The context that a Locker's methods get
// ends then; what tries again forever all the same is ended after many attempts.
//
// # Servers
//
// A server answers the library's commands and Redis's own (see Redis) on the same
// data, with the meaning that they have in Redis 7: a test compares the two, command
// by command. Keys expire by the server's wall clock, exactly when their time is
// over: a real server lets them live up to a millisecond longer. What it keeps over
// a Restart, what its replicas have at a Failover, and what its disk is said to keep
// are three things, and need not agree.
//
// A server that splits in two (SplitBrain) is a new master and, for some processes, the
// old one beside it, which the trace calls by its name with an apostrophe: A and A'.
package simulation
