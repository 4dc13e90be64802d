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

// endTimeout is how long a process may take to end by itself, and a signal to arrive.
const endTimeout = 20 * time.Second

// process is one that plays a part.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer

	once   sync.Once
	exited chan struct{}
}

// startPart starts this program anew, for a part. extra files follow standard error.
func startPart(name, part, run string, environment []string, extra ...*os.File) (*process, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("live: where is this program? %w", err)
	}
	p := &process{name: name, cmd: exec.Command(path), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), runVariable+"="+run, partVariable+"="+part)
	p.cmd.Env = append(p.cmd.Env, environment...)
	if p.cmd.SysProcAttr = attributes(); part == partJanitor {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the run
	}
	p.cmd.Stderr, p.cmd.ExtraFiles = &p.errs, extra
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close that before all has been read.
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

// stop stops the process (SIGSTOP) and returns when it has stopped.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("live: stopping %s: %w", p.name, err)
	}
	deadline := time.Now().Add(endTimeout)
	for !redisproc.Stopped(p.cmd.Process.Pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("live: %s doesn't stop", p.name)
		}
		time.Sleep(time.Millisecond)
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

// kill ends the process at once, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.once.Do(func() { _ = p.in.Close() })
}

// end ends the process by closing its input, and kills it if that doesn't help.
func (p *process) end() {
	p.once.Do(func() { _ = p.in.Close() })
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.exited:
	case <-time.After(endTimeout):
		p.kill()
	}
}

// said is what it wrote to its standard error, once it has ended.
func (p *process) said() string {
	select {
	case <-p.exited:
		return p.errs.String()
	default:
		return ""
	}
}
