// Package fencing is the resource's side of a lock: it refuses late writes by
// their fencing tokens.
//
// A lease can expire while its holder still believes in it: the process was
// paused, or its write was delayed in the network for longer than the lease had
// left. No lock service can prevent that; only the resource can, because the late
// write arrives there. So each lease carries a Token that is larger than those of
// all earlier leases on the same resource. The holder shows the token with each
// operation. A Guard in front of the resource remembers the largest token it has
// seen (the mark) and refuses smaller ones.
//
// # What a Guard guarantees
//
//  1. After Admit or Check has passed token t for a resource, every call on that
//     resource that starts later with a smaller token is refused with a
//     *StaleError, whichever process makes it.
//  2. The mark never goes down, except by Forget, which an operator calls, or by
//     a loss of the store that keeps it.
//  3. An equal token passes, any number of times: it is the same holder.
//  4. Resources are independent, and their names are compared byte by byte.
//  5. A refused call changes nothing: stale, without a token, with a token that
//     cannot exist or is ahead of the clock, with a bad resource name, or with a
//     context that had already ended.
//  6. When the store of the marks cannot answer, the call fails; a Guard never
//     passes a token that it could not compare. After an error other than the
//     refusals above, the mark may or may not have been raised. That is harmless:
//     the token exists, so the mark may be raised to it.
//  7. A token that is further ahead of the clock than the guard's Bound is
//     refused with an *AheadError, so that one wrong token cannot lock out every
//     later holder.
//
// # What the resource must do
//
//  1. Have every holder call Admit when it arrives, before its first read.
//  2. Check the token on every write, and let the check and the write take
//     effect in one step. Memory.Write does so under a lock, package redisguard
//     in a script and package sqlguard in a transaction. With a Check followed
//     by a separate write there is a gap: a later holder can be admitted, read
//     and write between the two, and the stale write is still executed.
//  3. Keep the marks at least as durably as the data, and restore both together:
//     after the loss of a mark, the holders that it locked out pass again.
//  4. Refuse writes without a token. Otherwise fencing protects only from holders
//     that use tokens.
//  5. Use one Guard, or several over the same store, for every path to the
//     resource.
//  6. Decide who may show a token. A guard accepts every token within its Bound:
//     a client that shows a larger token than it was given locks out the holders
//     after it, until their tokens have caught up or an operator calls Forget.
//     Package httpguard calls Config.Accept before it shows a token.
//
// # Why checking on write alone is not enough
//
// A holder that reads, computes and writes back can have its read overtaken:
//
//	A (token 33)  reads 100, adds 10, pauses before it writes
//	B (token 34)  acquires, and reads 100
//	A (token 33)  continues and writes 110: the guard has seen only 33, it passes
//	B (token 34)  adds 1 to the 100 it has read and writes 101
//
// Both writes passed their check, and A's update is lost, although B did
// everything right. The cure is to show the token before reading: B's Admit
// raises the mark to 34 before B reads, A's write is refused, and B's 101 is
// right, because A knows that its 110 was never written.
//
// Admit and Check do the same to the mark. They are two methods because they
// are two moments, and a resource that has a place for both is less likely to
// forget the first.
//
// # What a Guard cannot do
//
//  1. It cannot undo: what a holder wrote while it had the largest token stays,
//     even if the holder's lease had ended by then. Fencing orders the holders;
//     it does not tell how long each was allowed to act.
//  2. It cannot protect a resource that has no guard, such as e-mail or another
//     company's API.
//  3. It cannot distinguish two holders with equal tokens. The lock service
//     guarantees that tokens are unique.
//  4. It cannot know a token that nobody has shown yet.
package fencing
