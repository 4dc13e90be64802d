// Package scenarios lists the ways in which locks break. In each scenario a lock fails, or
// holds although it is said to fail. Package simulation runs the real code of the designs
// in package designs.
//
//	s, err := scenarios.ByID("S4")
//	...
//	d, err := s.Design("redlock")
//	...
//	r, err := s.Play(1, d)
//	...
//	err = s.Check(r, d) // nil: it ended as the scenario says
//
// A Scenario describes the events, the remedy and the source of the claim. It has a Verdict for each
// suitable design: the kinds of violations that every run shows, with any seed. A verdict without
// violations names counters that must not be zero, which prove that the run came close to one.
//
// What the clients do is a script: steps such as "acquire", "update" and "until 5 s".
//
// # Conventions
//
// Five servers A to E, a quorum of three, a TTL of 10 s with an allowance of 102 ms
// for clocks, messages that take 0.2 to 2 ms. Processes first verify the
// servers, so that the monitors have seen them. The events begin after a second, and the
// Steps count from there. Designs with one server use A. If the fault hits another server,
// they have their own Schedule (Alone).
//
// # Sources
//
// Kleppmann: M. Kleppmann, "How to do distributed locking", 2016. Antirez: S.
// Sanfilippo, "Is Redlock safe?", 2016. Redis document: "Distributed Locks with
// Redis", redis.io. Numbers after # are issues and pull requests of the named
// projects.
package scenarios
