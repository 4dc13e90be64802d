//go:build unix

package redisproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a process that can be stopped and killed, with its process group if it has one of its
// own. Its methods may be called from several goroutines.
type Process struct {
	// Exited is closed when it has ended.
	Exited <-chan struct{}

	cmd    *exec.Cmd
	target int // of signals
}

// diesWithParent makes the kernel end a child process when the process that started it dies without
// doing so. Linux alone can.
var diesWithParent = func(*syscall.SysProcAttr) {}

// StartProcess starts a process. On Linux the kernel ends it when the process that started it dies
// without doing so.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	diesWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	p := &Process{exited, cmd, cmd.Process.Pid}
	if cmd.SysProcAttr.Setpgid {
		p.target = -p.target
	}
	go func() {
		_ = cmd.Wait()
		close(exited)
		if p.target < 0 { // what it started and left behind
			_ = syscall.Kill(p.target, syscall.SIGKILL)
		}
	}()
	return p, nil
}

// State says how it ended. It must have ended.
func (p *Process) State() string { return p.cmd.ProcessState.String() }

func (p *Process) ended() bool {
	select {
	case <-p.Exited:
		return true
	default:
		return false
	}
}

// signal fails if it has ended.
func (p *Process) signal(sig syscall.Signal) error {
	if p.ended() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.target, sig)
}

// Pause stops it (SIGSTOP), and returns when it has stopped.
func (p *Process) Pause() error {
	err := p.signal(syscall.SIGSTOP)
	if err == nil && !AwaitStop(p.cmd.Process.Pid) {
		err = errors.New("it doesn't stop")
	}
	return err
}

// Resume ends a Pause.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// End sends it a signal, also while it is paused, and kills it if it goes on for longer than limit. It
// returns when it is gone.
func (p *Process) End(sig syscall.Signal, limit time.Duration) {
	_ = p.signal(sig)
	_ = p.Resume()
	select {
	case <-p.Exited:
	case <-time.After(limit):
		_ = p.signal(syscall.SIGKILL)
		<-p.Exited
	}
}

// AwaitStop waits until a process has come to a stop after a SIGSTOP, or is gone. It reports
// whether it has stopped.
func AwaitStop(pid int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	state := ""
	err := Poll(ctx, func() bool {
		state = stateOf(pid)
		return strings.Contains("TZX", state)
	})
	return err == nil && state == "T"
}

// stateOf is a process's state, as Linux has it: T if it is stopped, Z or X if it has ended, "" if it is gone.
// Elsewhere it is T, by the kernel's word: a signal that was sent is delivered before the process runs on.
func stateOf(pid int) string {
	if runtime.GOOS != "linux" {
		return "T"
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // without the file it is gone
	// The state follows the name, which is in parentheses.
	_, rest, _ := strings.Cut(string(stat), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// Poll waits until a condition is true about which no message is sent.
func Poll(ctx context.Context, is func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// maxOutput limits what is kept of a process's output, in bytes.
const maxOutput = 1 << 20

// Output keeps the end of a process's output.
type Output struct {
	mu   sync.Mutex
	text []byte
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text) > maxOutput {
		o.text = append([]byte(nil), o.text[len(o.text)-maxOutput/2:]...)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
