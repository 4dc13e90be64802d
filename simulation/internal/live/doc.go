// Package live runs the scenarios of package scenarios on real servers and checks whether
// they end as the simulation predicts. The servers are redis-server processes on the
// loopback interface. The clients are separate processes that run the lock designs of
// package designs. The resource is a file behind its own process, or a row in Redis.
//
// The faults are real: clients and servers are stopped (SIGSTOP) and killed, a Go
// program's world is stopped, servers come back empty or with the data on their disk, a
// server's clock jumps, a replica that missed writes takes over from its master, packets
// are held back and lost.
//
// # Scripts and faults
//
// Most cases perform the scenario's own scripts and schedule, in the order of the
// scenario's times. A few have a script of their own, because their faults hit requests in
// flight.
//
// # No step waits for a time
//
// A run goes step by step. Each step ends with a message that confirms it ("c1 has
// acquired", "c1 has checked its lease and is about to write", "the process has
// stopped"), and only then does the next step begin. Where a lease has to expire, the run
// waits for the client that gets the lock next. So the result does not depend on the
// machine's load. If a step came too late (a lease expired before it was needed), the run
// has shown nothing: it is repeated with a longer TTL and not counted.
//
// # How results are checked
//
// Clients write their actions to the resource's ledger, which numbers the entries. An
// operation also records the number at its beginning. All findings are derived from this
// order, without any clock. Two holders, for instance, means that a client found its
// lease valid in a check that began after another client had got the lock.
//
// # Scenarios without a live form
//
// Unplayed lists the scenarios that have none, with the reason. For instance, a single
// process cannot be given a suspended machine or a stepped wall clock.
package live
