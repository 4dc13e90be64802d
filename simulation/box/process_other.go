//go:build unix && !linux

package box

import "syscall"

// attributes gives a driver a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
