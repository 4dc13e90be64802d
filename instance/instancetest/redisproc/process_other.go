//go:build unix && !linux

package redisproc

import "syscall"

// diesWithParent does nothing: this system can't end a child process when the process that started it dies.
func diesWithParent(*syscall.SysProcAttr) {}

// stopped reports whether a process has come to a stop after a SIGSTOP. It takes the
// kernel's word: a signal that was sent is delivered before the process runs on.
func stopped(int) bool { return true }
