package redisproc

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// diesWithParent makes the kernel end a child process when the process that started it dies without
// doing so.
func diesWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// stopped reports whether a process has come to a stop after a SIGSTOP.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses.
	_, rest, ok := strings.Cut(string(stat), ") ")
	return ok && strings.HasPrefix(rest, "T")
}
