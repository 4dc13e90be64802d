// Package embedded runs servers inside the process that speak the Redis protocol, each on a port of
// its own: for tests of what is between a lock and its servers, for clients in other languages, and
// for go-redis. They can be stopped, restarted and paused. A lock without any server is in package
// quorum/memory.
//
// Each server is a miniredis whose keys expire in real time, and runs the same scripts as a real
// server. But all servers pause and die with the process, so a quorum of them protects nothing
// outside it. A lock between processes needs real servers.
//
// The servers lose their data at a restart, and INFO says so. INFO is true of them, except
// for the version, which is miniredis's own. Other than a real server's, their clock goes on within
// a script and a transaction.
package embedded
