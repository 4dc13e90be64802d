// Package quorumtest helps to test what is built on package quorum.
//
// Server is an instance in memory. It executes each request exactly and can be made to
// fail in every way in which a real server fails. Package contract checks that another
// wire.Instance behaves as a Server does.
package quorumtest
