package main

import "syscall"

func init() {
	endWithParent = func(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
}
