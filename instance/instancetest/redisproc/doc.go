// Package redisproc runs real redis-server processes, and proxies in front of them, for
// programs. Package instancetest does the same for tests. Each server has its own process and
// directory, and Close removes both. On Linux the kernel ends the server when the program that
// started it dies without calling Close.
//
// It can break things on purpose: servers can be killed, paused, resumed and restarted, with
// or without their data on disk, and a Link can hold back, drop and cut what goes over it.
package redisproc
