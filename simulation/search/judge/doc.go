// Package judge is a second opinion on what clients of a lock did: it shares no
// code with the simulation's own checks, looks only at what clients asked and were
// told, and leaves the search for an order that explains it to porcupine, which
// decides whether a history is linearizable.
//
// It takes plain data, so that a history of simulated clients and one of real
// clients on real servers are judged by the same code. Three questions are asked
// of each key:
//
//   - Exclusion: is there an order of all Locks and Unlocks in which nobody gets the
//     lock while another has it?
//   - Tokens: is there an order of all Locks, no later one before an earlier one, in
//     which the tokens only grow?
//   - Resource: is there an order of all Reads and Writes in which each Read finds
//     what the Write before it left, each Write replaces the version that its
//     writer had read, and no Write has a smaller token than an operation before it?
//
// A history by example, of the resource k; time goes to the right:
//
//	c1  |read: version 0|                      |write as of 0, token 1|
//	c2                    |read: 0| |write as of 0, token 2|
//
// It is not linearizable: whichever write comes first, the second one replaces a
// version that its writer never saw.
//
// # What it can't see
//
// What no client was told can't be judged. A write that nobody was answered and
// nobody reads afterwards is as good as none; add a Read of the final state by an
// observer to close the gap. And where operations overlap, any order that explains
// the answers will do, also one that isn't what happened. So a history that is
// Broken here is broken; one that Holds might have been seen through by somebody
// who stood at the servers.
package judge
