// Package scenarios is the list of what breaks locks: each entry one story in
// which a lock fails, or holds although it is said to fail, played by the real code
// in package simulation against the lock designs of package designs.
//
//	s, err := scenarios.ByID("S4")
//	...
//	d, err := s.Design("redlock")
//	...
//	r, err := s.Play(1, d)
//	...
//	err = s.Check(r, d) // nil: it ended as the scenario says
//
// A Scenario says in words what happens when, which assumption breaks, what is
// lost by that and what helps, and who claimed it. It then gives the Verdict for
// each design that it makes sense for: the kinds of violations that every run
// shows, whatever the seed. A verdict of none is worth as much as what the run came
// near to, so that it names the counters that must not be zero.
//
// What is not one story but a line of figures is a Sweep (the rate at which clocks
// run apart, the number of lost votes) or a Split (votes divided between clients).
//
// # Conventions
//
// Five servers A to E, a quorum of three, a TTL of 10 s with an allowance of 102 ms
// for clocks, messages that take 0.2 to 2 ms. Processes look at the servers first,
// so that what watches them has seen them before anything happens; the story begins
// after a second, and the Steps count from there. Designs that use one server use
// A, and where the fault is another server's they have a Schedule of their own
// (Alone).
//
// # Sources
//
// Kleppmann: M. Kleppmann, "How to do distributed locking", 2016. Antirez: S.
// Sanfilippo, "Is Redlock safe?", 2016. Redis document: "Distributed Locks with
// Redis", redis.io. Numbers after # are issues and pull requests of the named
// projects.
package scenarios
