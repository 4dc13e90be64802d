// Package recipes has no code. Its folders are short programs that take a lock, each run by a test
// as several processes: cron, leader, migration, pool and transfer. Its tests have adapters of a few lines
// for other libraries, to copy, and in migrating the same calls with other locks and with this one.
//
// They are a module of their own, so that importers of package quorum don't get these libraries.
package recipes
