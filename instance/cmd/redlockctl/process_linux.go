package main

import "syscall"

// endWithParent has the kernel kill the command when this process dies, so that it doesn't go on
// without a lock.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
