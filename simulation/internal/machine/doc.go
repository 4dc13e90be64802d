// Package machine is the argument why tokens rise (package settlement) as an abstract machine. It
// has servers with counters and runs, rounds with votes, and a few kinds of transitions. Rules say
// when a transition may happen. Within the rules, anything may happen at any moment: a key goes, a server
// restarts with older data, a counter rises although no round uses its tokens.
//
// It alone finds code whose tokens rise by luck: a run with a step that the rules forbid is wrong even if
// no violation follows from it. And it alone shows which of the rules the order of tokens needs.
//
// The claim: let A and B be won rounds, and s a server that counts for both and granted A first.
//
//   - If s's counter never fell between the moment at which it had A's token and B's grant, A's token is
//     below B's. A counter that expires in between doesn't change that.
//   - If it fell, the same holds if MaxTTL passed before B's grant, and s's clock showed that, to
//     within half of MaxTTL.
//
// Nothing but tests uses the machine, so all of it is in test files. The claim is checked in two ways:
//
//   - World.Explore visits every state of a small world. So the rules imply the claim there. Tests
//     remove one rule at a time, weaken it, and plant wrong effects: each time the claim breaks in some
//     world.
//   - Check compares a run of the simulation, whose clients are the real library, with the machine.
//     Each request that a server carried out, and each lease, must be a step of the machine. So the
//     code keeps the rules in the runs that are compared. Runs of some mutants break a rule.
//
// # What each part needs
//
// The order of tokens while a common server keeps its counter needs the rules of Grant, Try, Raise,
// Restore and Win, except for those about clocks and runs. It also needs that a server carries out no
// request twice. It doesn't need clocks, nor that a server refuses a held key.
//
// If the counter expired, it also needs that its expiry is tied to its value, and that a new counter starts no
// further behind the server's clock than a counter lives. That a new counter is low isn't enough: whoever made
// it may end before the raise, and then the counter isn't new for the next client.
//
// The order when that server lost its counter also needs six things. No counter is far ahead of its
// server's clock. A counter that is new, or no higher than the epoch and MaxTTL, gives a token above the clock.
// The mark and the replication ID are those that the client knows, and are read when the key is set: a flush
// takes the mark, and a demotion and promotion the replication ID. No client asks the server for MaxTTL.
// The server's clock agrees with the time that passed.
//
// One valid lease at a time also needs three things. A server grants only a free key. A key goes
// only when its lease is over. A server in a new run isn't asked while a lease that it may have
// forgotten is valid. Runs don't show when a lease is over, so only worlds check this part. In runs,
// the simulation's own checks look for two holders.
//
// A lock of several keys is one machine for each of them. A vote for it has one token, the largest of what its
// counters give, so in the machine of another key the token is above the counter.
//
// # Which runs
//
// Check is for runs of clients that are the library with its tokens: simulation.Config without a
// Locker, and with Fencing on. Other designs have no tokens, or other ones. Their runs aren't runs of
// the machine, or have no wins.
package machine
