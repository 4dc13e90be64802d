// Package simulation runs client processes against simulated servers in virtual time, with
// faults, and checks the results. The processes run the real quorum.Coordinator, or any
// other Locker. The package simulates its environment: clocks, network, servers and their
// replicas, pauses, crashes, and a resource that the locks protect.
//
// Use it to test your own critical section: write it as a Workload, run it from go test
// under the faults that matter to you, and see what happens to the resource, with and
// without a guard.
//
//	r, err := simulation.Run(seed, simulation.Config{}, simulation.Schedule{
//		{Kind: fault.Pause, Process: "c1", Op: "write", Nth: 1, For: 12 * time.Second},
//	}, workload)
//
// # How it works
//
// A run uses a testing/synctest bubble for one purpose: to detect when all goroutines
// of the code under test are blocked. The bubble's own time never advances. One
// goroutine, the driver, takes events from a queue in virtual time. Each event wakes
// at most one goroutine of one process, and the driver waits until all goroutines are
// blocked again. Meanwhile the code's requests (calls, timers) collect in an inbox, in
// any order. The driver sorts them by process, kind, server and content before it
// executes them.
//
// So a Result depends only on the seed, the Config, the Schedule and the Workload. All
// randomness is a hash of the seed and its purpose, so that removing one fault from a
// Schedule leaves everything else unchanged.
//
// The Config describes the world and the Schedule the faults. A Schedule is written by
// hand, drawn from a seed (Draw), or found by package search. It is plain data and
// can be stored as JSON.
//
// # What a Result says
//
// Its Log (package record) is the list of all Events. Log.Violations are the findings of the
// checks (package check). A log without violations proves little if the situations that the checks look
// for never occurred: Log.Counts counts them. Log.History is what clients did and were told. The Log's
// text, a trace, has a line for each Event:
// the true time in milliseconds, the actor and the action:
//
//	1000.000000 c1 acquire A#2                       c1 sends its second request to A
//	1001.203310 A acquire c1#2 granted token=7 key=k until=11001203310
//	1002.950021 c1 receives A#2
//	1003.017000 c1 acquired k token=7 validity=9893183112
//	1500.000000 C suffers step by=15000000000
//	1500.000000 C has key=k gone
//
// "until" is the true time, in nanoseconds, at which the key will expire if nothing
// changes: validity is what the holder believes, until is the truth.
//
// # Waiting
//
// The servers notify waiters when a lock is released, see wire.Notifier. Each process
// has a connection for notifications, with latency and loss, which breaks when its server
// stops. With Quorum.Lab.Notifications Off there are no notifications, and waiters poll.
//
//	1000.211000 c2 subscribe D#6                     c2 opens the connection
//	1001.402117 D subscribe c2#6 granted
//	1005.310022 D notifies c2 key=k                  k was released; "lost" if c2 won't receive it
//	1006.731890 c2 notified by D key=k
//
// A workload can start more goroutines with Client.Go. Their calls of the library start
// one after the other in a random order, each when all goroutines of the process are
// blocked.
//
// # Time
//
// True time is the driver's. Each process has a monotonic and a wall clock, and each
// server a wall clock, each with its own rate, steps and stops. Code takes no virtual
// time: a pause at a time (Fault.At) never happens between a check of the lease and the
// next write, but a pause at an operation (Fault.Nth) does.
//
// # What a crash is
//
// A goroutine cannot be killed from outside. The workload of a crashed process ends at
// its next call of a Client's method. The library's goroutines continue in isolation:
// each call fails at once, each timer is due, the Coordinator is closed, and their
// actions have no effect. The context of the Locker's methods ends. Code that keeps
// retrying is ended after many attempts.
//
// An incarnation is what a process is from its start to its crash, or a server from its start
// to its end. A process that reboots and a server that restarts begin the next one. A server
// has a new run ID and replication ID in each. ("Run" alone means a run of the simulation.)
//
// # Servers
//
// A server executes the library's commands and Redis's own (see Redis) on the same data,
// as Redis 7 does: a test compares the two, command by command. Keys expire by the
// server's wall clock, exactly at the end of their TTL; a real server keeps them up to a
// millisecond longer. What a server keeps over a Restart and what its replicas have at a
// Failover are independent.
//
// In a SplitBrain, a server is a new master plus the old one, which some processes still
// reach. The trace names the old one with an apostrophe: A and A'. After a Switch it names the
// other server with a tilde: A~.
//
// # The parts
//
//	simulation         Run: the world of a run with its processes, network, servers and resource
//	fault              what can go wrong, as data
//	redismodel         a server's data: commands, scripts, expiry. It knows no clock and no network
//	record             what happened, as data: the Log, its text and its counters
//	check              the violations in a record. Live runs use the same checks
//	internal/kernel    true time, the queue of events, the inbox, and the clocks of processes
package simulation
