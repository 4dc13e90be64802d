//go:build unix

package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// endTimeout bounds the wait for a process to exit on its own or to react to a signal.
const endTimeout = 20 * time.Second

// process is a child process.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer

	once   sync.Once
	exited chan struct{}
}

// startRole starts this program as a child process. extra files follow standard error.
func startRole(name, role, run string, environment []string, extra ...*os.File) (*process, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("live: finding this program: %w", err)
	}
	p := &process{name: name, cmd: exec.Command(path), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), runVariable+"="+run, roleVariable+"="+role)
	p.cmd.Env = append(p.cmd.Env, environment...)
	if p.cmd.SysProcAttr = redisproc.Attributes(); role == roleCleanup {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the run
	}
	p.cmd.Stderr, p.cmd.ExtraFiles = &p.errs, extra
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe, because Wait would close it before all is read.
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = writer
	p.out = bufio.NewReader(reader)
	err = p.cmd.Start()
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return nil, fmt.Errorf("live: starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// stop stops the process (SIGSTOP) and waits until it has stopped.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("live: stopping %s: %w", p.name, err)
	}
	if !redisproc.AwaitStop(p.cmd.Process.Pid, p.exited) {
		return fmt.Errorf("live: %s didn't stop", p.name)
	}
	return nil
}

// resume ends a stop.
func (p *process) resume() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("live: resuming %s: %w", p.name, err)
	}
	return nil
}

// kill kills the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.once.Do(func() { _ = p.in.Close() })
}

// end closes the input of the process, and kills it if it does not exit.
func (p *process) end() {
	p.once.Do(func() { _ = p.in.Close() })
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.exited:
	case <-time.After(endTimeout):
		p.kill()
	}
}

// said returns its standard error after it has ended.
func (p *process) said() string {
	select {
	case <-p.exited:
		return p.errs.String()
	default:
		return ""
	}
}
