package redisproc

import "syscall"

func init() {
	diesWithParent = func(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
}
