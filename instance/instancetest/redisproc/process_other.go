//go:build unix && !linux

package redisproc

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

// Stopped reports whether a process has come to a stop after a SIGSTOP. It takes the
// kernel's word: a signal that was sent is delivered before the process runs on.
func Stopped(int) bool { return true }
