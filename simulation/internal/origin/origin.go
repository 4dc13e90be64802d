// Package origin says what a recording is of: which commit, which lock, when, and on which machine. So a page can say
// whether a recorded measurement is of today's lock.
package origin

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Origin is what a recording is of.
type Origin struct {
	Commit string `json:"commit,omitempty"` // see Commit
	Lock   string `json:"lock,omitempty"`   // see Lock
	Date   string `json:"date,omitempty"`   // as time.DateOnly
	CPU    string `json:"cpu,omitempty"`    // its model, empty where the system doesn't tell it
	Cores  int    `json:"cores"`
}

// Of is the origin of what is recorded now, in a checkout.
func Of(ctx context.Context, root string) (Origin, error) {
	lock, err := Lock(root)
	return Origin{
		Commit: Commit(ctx, root), Lock: lock, Date: time.Now().UTC().Format(time.DateOnly), CPU: cpu(), Cores: runtime.NumCPU(),
	}, err
}

// Commit is what a checkout has, "unknown" without git.
func Commit(ctx context.Context, root string) string {
	commit, _ := exec.CommandContext(ctx, "git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output() // "" without git
	return cmp.Or(strings.TrimSpace(string(commit)), "unknown")
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
}
