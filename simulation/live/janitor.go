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
func clean(dir, run string, in io.Reader) error {
	if run == "" || !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return fmt.Errorf("%q is no run's directory", dir)
	}
	_, _ = io.Copy(io.Discard, in) // its end is the run's, also if that was killed
	// A process that is just being ended may still make a file: so look again.
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids := Running(run)
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

// Running gives the ids of the processes that a run has started and that are there
// still, but for this one and for janitors; "" stands for all runs. It knows of none
// where there is no /proc.
func Running(run string) []int {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, file := range environments {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // gone, or somebody else's
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		if environment := strings.Split(string(content), "\x00"); marked(environment, run) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func marked(environment []string, run string) bool {
	ours := false
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case name == partVariable && value == partJanitor:
			return false
		case name == runVariable && (run == "" || value == run):
			ours = true
		}
	}
	return ours
}

// startJanitor starts the process that outlives the run, if only for a moment.
func startJanitor(run, dir string) (*process, error) {
	return startPart("the janitor", partJanitor, run, []string{dirVariable + "=" + dir})
}
