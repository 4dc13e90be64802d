// Package quorumtest helps to test what is built on package quorum.
//
// Server is an instance in memory: exact in what each command does, and made to
// fail in every way in which a real server fails. Check is the contract that
// every wire.Instance must pass.
package quorumtest
