// Package machine is the argument why tokens rise (package settlement) as an abstract machine. It
// has servers with counters and runs, rounds with votes, and a few kinds of transitions. Rules say
// when a transition may happen. Within the rules, anything may happen at any moment: a key goes, a server
// restarts with older data, a counter rises although no round uses its tokens.
//
// It alone shows which of the rules the order of tokens needs. Whether the code keeps the rules is for other
// tests: mutants break the lines that keep them, and package search judges every vote and lease of random runs.
//
// The claim: let A and B be won rounds, and s a server that counts for both and granted A first.
//
//   - If s's counter never fell between the moment at which it had A's token and B's grant, A's token is
//     below B's. A counter that expires in between doesn't change that.
//   - If it fell, the same holds if MaxTTL passed before B's grant, and s's clock showed that, to
//     within half of MaxTTL.
//
// Nothing but tests uses the machine, so all of it is in test files. World.Explore visits every state of a small
// world. So the rules imply the claim there. Tests remove one rule at a time, or weaken it: each time the claim
// breaks in some world.
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
// forgotten is valid.
//
// A lock of several keys is one machine for each of them. A vote for it has one token, the largest of what its
// counters give, so in the machine of another key the token is above the counter.
package machine
