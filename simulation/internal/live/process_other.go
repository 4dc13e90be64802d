//go:build unix && !linux

package live

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
