// Package adapters has no code. Each of its folders fits the lock to the interface of another
// library:
//
//   - redsync: redsync's own API. A program changes its import path.
//   - gocronlock: the Locker and the Elector of gocron v2.
//   - certmagiclock: the Locker of certmagic.
//
// They are a module of their own, so that importers of package quorum don't get these libraries.
// The module quorum/recipes has more: short programs, and adapters of a few lines to copy.
package adapters
