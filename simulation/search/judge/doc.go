// Package judge is a second opinion on the history of a lock's clients. It shares no code
// with the simulation's own checks and sees only requests and replies. Porcupine, which
// decides whether a history is linearizable, looks for an order that explains them.
//
// The history is plain data, so that the same code judges simulated clients and real
// clients on real servers. There are three questions about each key:
//
//   - Exclusion: is there an order of all Locks and Unlocks in which no client gets the
//     lock while another one holds it?
//   - Tokens: is there an order of all Locks, no later one before an earlier one, in
//     which the tokens only grow?
//   - Resource: is there an order of all Reads and Writes in which each Read returns the
//     value of the Write before it, each Write replaces the version that its writer had
//     read, and no Write has a smaller token than an operation before it?
//
// A history by example, of the resource k; time goes to the right:
//
//	c1  |read: version 0|                      |write as of 0, token 1|
//	c2                    |read: 0| |write as of 0, token 2|
//
// It is not linearizable: whichever write comes first, the second one replaces a version
// that its writer has not read.
//
// # Limits
//
// The judge knows only what clients learned. A write without a reply that no client reads
// afterwards has no effect on the answers. To close the gap, add a Read of the final state
// by an observer. If operations overlap, any order that explains the replies is accepted,
// also one that did not happen. So a history that is Broken is wrong, but one that Holds
// may still have had a violation that only the servers could see.
package judge
