//go:build unix && !linux

package main

import "syscall"

// endWithParent does nothing: if this process is killed, the command goes on without a lock.
func endWithParent(*syscall.SysProcAttr) {}
