package redisproc

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// attributes makes the kernel end the server when the process that started it dies without
// doing so.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Stopped reports whether a process has come to a stop after a SIGSTOP.
func Stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses.
	_, rest, ok := strings.Cut(string(stat), ") ")
	return ok && strings.HasPrefix(rest, "T")
}
