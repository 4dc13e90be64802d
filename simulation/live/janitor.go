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

// clean is the janitor's part: it waits until the run has ended, however that was, and
// ends and removes what the run has left. A run that ended in good order has left
// nothing.
func clean(dir string, in io.Reader) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return fmt.Errorf("%q is no run's directory", dir)
	}
	_, _ = io.Copy(io.Discard, in) // its end is the run's, also if that was killed
	// A process that is just being ended may still make a file: so look again.
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids := Running(dir)
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

// Running gives the ids of the processes that are there still of runs that have, or
// had, their directories in dir, but for this process and for janitors. It knows of
// none where there is no /proc.
func Running(dir string) []int {
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

// belongs says whether a process is one of a run's: a server works in the run's
// directory (its environment it writes over), a part has it in its environment.
func belongs(process, dir string) bool {
	if at, err := os.Readlink(filepath.Join(process, "cwd")); err == nil && strings.HasPrefix(at, dir+"/") {
		return true
	}
	environment, err := os.ReadFile(filepath.Join(process, "environ"))
	if err != nil {
		return false // gone, or somebody else's
	}
	ours := false
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case name == partVariable && value == partJanitor:
			return false
		case name == runVariable && (value == dir || strings.HasPrefix(value, dir+"/")):
			ours = true
		}
	}
	return ours
}

// startJanitor starts the process that outlives the run, if only for a moment.
func startJanitor(dir string) (*process, error) {
	return startPart("the janitor", partJanitor, dir, nil)
}
