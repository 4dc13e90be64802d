package box

import "syscall"

// attributes gives a driver a process group of its own, and has the kernel end it when the box dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
