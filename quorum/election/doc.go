// Package election lets one of several processes lead. It uses a lock of package quorum.
//
//	e, err := election.New(locks, "scheduler", election.Config{})
//	...
//	err = e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
//		return schedule(ctx, term) // until ctx ends
//	})
//
// A term is a lease on the election's key, and its number is the lease's fencing token: larger
// than that of every earlier term. The candidates are the processes that call Run. One of them
// leads at a time, and the others wait.
//
// # Why there is one leader
//
// A leader's context ends Config.Margin before its lease does, and the lease ends before its
// keys can expire on a quorum of servers (assumption 2 of package quorum). Another candidate
// needs a quorum on which the keys are gone. So between the end of a leader's context and the
// next term there is at least the margin: time for the leader to stop what it has begun.
//
// A leader that resigns, or whose Run is to end, keeps its lease until its function has
// returned. Only then are the keys deleted, which notifies the next candidate. So a resignation
// costs no margin, and a function that ignores its context keeps the others waiting, but never
// works beside another leader.
//
// A process that is paused finds its context ended when it goes on, but may carry out a few
// instructions before it looks. No lock can prevent that. Pass the term to every resource that
// the leader changes: the resource's guard refuses every term below the largest that it has seen
// (package fencing). The context carries the term, too (fencing.FromContext).
package election
