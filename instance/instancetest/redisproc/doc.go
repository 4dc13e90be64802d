// Package redisproc runs real redis-server processes and puts proxies before them,
// for programs that do so without a test: package instancetest is the same for
// tests. Each server has a process and a directory of its own, and is gone with
// both after Close. On Linux the kernel ends it when the program that started it
// dies without one.
//
// What it offers is for breaking things on purpose: servers can be killed, stopped,
// continued and started again, with or without what they had on disk; a Link holds
// back, loses and cuts what goes over it.
package redisproc
