// Package live plays the scenarios of package scenarios on real servers, and says
// whether they end as the simulation predicts: redis-server processes on the
// loopback interface, clients that are processes of their own and run the very
// lock designs of package designs, a resource that is a file, or a row in Redis,
// behind a process of its own.
//
// The faults are real: clients and servers are stopped (SIGSTOP) and killed, a Go
// program's world is stopped, servers come back empty or with what was on their disk,
// a server's clock jumps, a replica takes over from a master that it had not heard
// from, packets are held back and lost.
//
// # No step waits for a time
//
// A play goes step by step: each step ends with a message that what had to happen
// has happened ("c1 has acquired", "c1 has looked at its lease and is about to write",
// "the process has stopped"), and only then the next one begins. Where a lease has to
// run out, the play waits for the one who gets the lock after it. So the verdict
// doesn't depend on how busy the machine is. Where a step came too late for the story
// (a lease was over before it was needed), the play has shown nothing; it is played
// again with a longer time to live, and never counted.
//
// # How it is judged
//
// Clients write what they do to the resource's ledger, which gives each entry a
// number; an operation has the number at which it began, too. Everything is read off
// this order, and no clock is asked: two holders, for instance, are one who looked at
// its lease and found it valid, when another one had been given the lock before that
// look began. The same history is given to package judge for a second opinion.
//
// # What has no live form
//
// Unplayed lists the scenarios that have none, and why: a machine that is suspended and
// a client whose wall clock is stepped, for instance, can't be had for one process among
// others.
package live
