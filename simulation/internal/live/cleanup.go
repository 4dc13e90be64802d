//go:build unix

package live

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// dirPrefix begins the name of every run's directory.
const dirPrefix = "redlocksim-live-"

// clean is the cleanup process: it waits until the run has ended, even by kill -9, and
// then kills the remaining processes and removes the files. A normal end leaves none.
func clean(dir string, in io.Reader) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return fmt.Errorf("%q is not a run's directory", dir)
	}
	_, _ = io.Copy(io.Discard, in) // it ends with the run, even if the run is killed
	// A dying process may still create a file, so repeat.
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids := running(dir)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		err := os.RemoveAll(dir)
		if len(pids) == 0 && err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// running returns the IDs of the processes of runs whose directories are or were in dir,
// except this process and cleanup processes. Without /proc it returns none.
func running(dir string) []int {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, process := range processes {
		var pid int
		if _, err := fmt.Sscanf(process, "/proc/%d", &pid); err == nil && pid != os.Getpid() && belongs(process, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// belongs reports whether a process is part of a run. A server has its working directory
// there (it overwrites its environment); other processes have it in their environment.
func belongs(process, dir string) bool {
	if at, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && strings.HasPrefix(at, dir+"/") {
		return true
	}
	environment, err := os.ReadFile(filepath.Join(process, "environ"))
	if err != nil {
		return false // gone, or another user's
	}
	ours := false
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case name == roleVariable && value == roleCleanup:
			return false
		case name == runVariable && (value == dir || strings.HasPrefix(value, dir+"/")):
			ours = true
		}
	}
	return ours
}

// startCleanup starts the cleanup process, which outlives the run.
func startCleanup(dir string) (*process, error) {
	return startRole("the cleanup", roleCleanup, dir, nil)
}
