// Package embedded runs independent servers inside the process: enough for a
// first try, for tests, and for examples, without anything to install.
//
// Each server is a miniredis whose keys expire in real time. It speaks the Redis protocol and
// runs the same scripts as a real server. But all servers pause and die with the process, so
// a quorum of them protects nothing outside it. A lock between processes needs real servers.
//
// The servers lose their data at a restart, and INFO says so. INFO is true of them, except
// for the version, which is miniredis's own.
package embedded
