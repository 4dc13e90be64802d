//go:build unix && !linux

package redisproc

import "syscall"

// Attributes are those of a child process. This system can't end it when the process that started it
// dies.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// stopped reports whether a process has come to a stop after a SIGSTOP. It takes the
// kernel's word: a signal that was sent is delivered before the process runs on.
func stopped(int) bool { return true }
