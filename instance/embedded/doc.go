// Package embedded runs independent servers inside the process: enough for a
// first try, for tests, and for examples, without anything to install.
//
// Each is a miniredis whose keys expire in real time. They speak the Redis
// protocol and run the same scripts as a real server. But they die with the
// process and are all paused with it, so a quorum of them proves nothing about
// the outside world: what has to hold between processes needs real servers.
//
// They keep nothing over a restart, and say so when asked; of what they say of
// themselves only the software's version is miniredis's own invention.
package embedded
