//go:build unix

// Package redisproc runs real redis-server processes, and proxies in front of them, for
// programs. Package instancetest does the same for tests. Each server has its own process and
// directory, and Close removes both. On Linux the kernel ends the server when the program that
// started it dies without calling Close.
//
// It can break things on purpose: servers can be killed, paused, resumed and restarted, with
// or without their data on disk, and a Link can hold back, drop and cut what goes over it.
package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout limits a server's start, with the loading of its data, its end, and its reply to a
// command, on a busy machine.
const startTimeout = 20 * time.Second

// confFile is in a server's directory.
const confFile = "redis.conf"

// Server is a server process. Its methods may be called from several goroutines.
type Server struct {
	cfg     Config
	binary  string
	dir     string
	addr    string
	release func() // gives the port up
	output  Output

	mu      sync.Mutex
	process *Process // nil while it doesn't run
}

// Start starts a server and returns when it answers. ctx limits only the start. The error Is
// ErrMissing if there is no such program. Otherwise it contains the server's output.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	path, err := cfg.Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redis")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, confFile), []byte(cfg.Conf), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("redisproc: making the server's directory: %w", err)
	}
	s := &Server{cfg: cfg, binary: path, dir: dir, release: func() {}}
	// The port of a node's cluster bus isn't reserved, and may be too high. Outside of Linux no port is reserved.
	for range 10 {
		s.release()
		if s.addr, s.release, err = Reserve(); err == nil {
			err = s.Restart(ctx)
		}
		if err == nil {
			return s, nil
		} else if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(err, s.Close())
}

// Addr returns host:port. A restart doesn't change it.
func (s *Server) Addr() string { return s.addr }

// URL returns the server's URL, with its password.
func (s *Server) URL() string {
	if s.cfg.Password != "" {
		return "redis://:" + s.cfg.Password + "@" + s.addr
	}
	return "redis://" + s.addr
}

// Dir returns the server's working directory.
func (s *Server) Dir() string { return s.dir }

func (s *Server) start() (*Process, error) {
	_, port, _ := net.SplitHostPort(s.addr)
	args := []string{filepath.Join(s.dir, confFile), "--dir", s.dir, "--save", "", "--daemonize", "no", "--bind", "127.0.0.1", "--port", port}
	if s.cfg.Password != "" {
		args = append(args, "--requirepass", s.cfg.Password)
	}
	cmd := exec.Command(s.binary, append(args, s.cfg.Args...)...)
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	cmd.Env = append(os.Environ(), s.cfg.Env...)
	s.mu.Lock()
	defer s.mu.Unlock()
	process, err := StartProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("redisproc: starting %s: %w", s.binary, err)
	}
	s.process = process
	return process, nil
}

// Restart stops the process, if it runs, starts it again at the same address in the same
// directory, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	process, err := s.start()
	if err != nil {
		return err
	}
	if err := s.ready(ctx, process); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// ready waits for the first reply of the process.
//
// Invariant: it is this process that replies. Another one may have the address, and this one
// then ends. A test that used the other one would break it, and be broken by it: it may be a
// server of a test that runs at the same time, or a Link to one.
func (s *Server) ready(ctx context.Context, process *Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	own := fmt.Sprintf("\r\nprocess_id:%d\r\n", process.cmd.Process.Pid)
	for {
		text, err := s.Ask("INFO")
		own := strings.Contains(text, own) && !strings.Contains(text, "\r\nloading:1\r\n")
		if err == nil && (own || strings.HasPrefix(text, "-")) { // a server that knows no INFO doesn't tell
			return nil
		}
		select {
		case <-process.Exited:
			return fmt.Errorf("redisproc: %s ended at once:\n%s", s.binary, &s.output)
		case <-ctx.Done():
			return fmt.Errorf("redisproc: %s doesn't answer (%q, %v): %w:\n%s", s.binary, text, err, context.Cause(ctx), &s.output)
		case <-time.After(time.Millisecond):
		}
	}
}

// Pause stops the process (SIGSTOP), and returns when it has stopped. The kernel still accepts
// connections.
func (s *Server) Pause() error { return s.do((*Process).Pause) }

// Resume ends a Pause.
func (s *Server) Resume() error { return s.do((*Process).Resume) }

func (s *Server) do(do func(*Process) error) error {
	s.mu.Lock()
	process := s.process
	s.mu.Unlock()
	if process == nil {
		return fmt.Errorf("redisproc: %s is not running", s.addr)
	}
	if err := do(process); err != nil {
		return fmt.Errorf("redisproc: %s: %w", s.addr, err)
	}
	return nil
}

// Kill ends the process at once (SIGKILL), if it runs. It returns when the process is gone.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop shuts the process down (SIGTERM), so that it saves its data. It returns when the process
// is gone.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	process := s.process
	s.process = nil
	s.mu.Unlock()
	if process != nil {
		process.End(sig, startTimeout)
	}
}

// Close kills the process and removes its directory. It cannot be started again.
func (s *Server) Close() error {
	s.Kill()
	s.release()
	return os.RemoveAll(s.dir)
}
