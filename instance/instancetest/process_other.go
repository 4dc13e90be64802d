//go:build unix && !linux

package instancetest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

// stopped takes the kernel's word: a signal that was sent is delivered before
// the process runs on.
func (s *Server) stopped() bool { return true }
