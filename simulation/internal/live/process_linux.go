package live

import "syscall"

// attributes has the kernel end a process when the run that started it dies without
// having done so.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
