//go:build unix

package redisproc

import (
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

	cmd *exec.Cmd
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
	go func() {
		_ = cmd.Wait()
		close(exited)
		if cmd.SysProcAttr.Setpgid { // what it started and left behind
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	return &Process{exited, cmd}, nil
}

// State says how it ended. It must have ended.
func (p *Process) State() string { return p.cmd.ProcessState.String() }

// signal fails if it has ended.
func (p *Process) signal(sig syscall.Signal) error {
	if !p.cmd.SysProcAttr.Setpgid {
		return p.cmd.Process.Signal(sig)
	}
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		return err
	}
	return syscall.Kill(-p.cmd.Process.Pid, sig)
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
	if runtime.GOOS != "linux" {
		return true // a signal that was sent is delivered before the process runs on
	}
	state := ""
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // without the file it is gone
		_, rest, _ := strings.Cut(string(stat), ") ")             // the state follows the name
		// T if it is stopped, Z or X if it has ended.
		if state, _, _ = strings.Cut(rest, " "); strings.Contains("TZX", state) {
			break
		}
	}
	return state == "T"
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
	o.text = append(o.text, p...)
	o.text = o.text[max(0, len(o.text)-maxOutput):]
	return len(p), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
