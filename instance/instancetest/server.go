//go:build unix

// Package instancetest runs real Redis servers for tests: each in a process and
// a directory of its own, stopped at the test's end.
//
// Without a redis-server on the PATH the test is skipped, or fails if the
// environment has REDLOCK_REQUIRE_REDIS=1.
package instancetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// RequireEnv names the environment variable that, set to 1, makes a missing
// server a failure.
const RequireEnv = "REDLOCK_REQUIRE_REDIS"

// startTimeout bounds a server's start: loading included, on a busy machine.
const startTimeout = 20 * time.Second

// Config says what to start. The zero Config is redis-server on a free port of
// the loopback interface, in memory only.
type Config struct {
	// Binary is the server to start. Default: redis-server from the PATH.
	Binary string
	// Args are added to the command line, as in {"--maxmemory", "2mb"}.
	Args []string
	// Password is what the server demands, if anything.
	Password string
	// ConfigFile is a file to start it with, made empty if it is missing; for
	// Sentinel, which can't do without.
	ConfigFile string
	// Unix makes it listen on a socket in its directory rather than on a port.
	Unix bool
}

// Server is a running server. Its methods fail the test rather than return
// errors; they may be called from several goroutines, which the test must
// outlive.
type Server struct {
	t      testing.TB
	cfg    Config
	binary string
	dir    string
	addr   string

	mu     sync.Mutex
	cmd    *exec.Cmd
	output *output
	exited chan struct{}
}

// Start starts a server and returns when it answers.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	binary := cfg.Binary
	if binary == "" {
		binary = "redis-server"
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		if os.Getenv(RequireEnv) == "1" {
			t.Fatalf("%s is missing, and %s=1 asks for it: %v", binary, RequireEnv, err)
		}
		t.Skipf("%s is missing (%v); install it to run this test", binary, err)
	}
	// Not t.TempDir: a socket's path may have 107 bytes at most.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, cfg: cfg, binary: path, dir: dir}
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	// Between finding a free port and using it somebody else may take it.
	for try := 1; ; try++ {
		s.addr = s.choose()
		err := s.start()
		if err == nil {
			return s
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

// StartN starts n servers.
func StartN(t testing.TB, n int, cfg Config) []*Server {
	t.Helper()
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = Start(t, cfg)
	}
	return servers
}

// choose picks an address to listen on.
func (s *Server) choose() string {
	if s.cfg.Unix {
		return filepath.Join(s.dir, "redis.sock")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Addr gives host:port, or the socket's path.
func (s *Server) Addr() string { return s.addr }

// Network gives "tcp" or "unix".
func (s *Server) Network() string {
	if s.cfg.Unix {
		return "unix"
	}
	return "tcp"
}

// URL gives the server's URL, with its password.
func (s *Server) URL() string {
	user := ""
	if s.cfg.Password != "" {
		user = ":" + s.cfg.Password + "@"
	}
	if s.cfg.Unix {
		return "unix://" + user + s.addr
	}
	return "redis://" + user + s.addr
}

// Dir gives the directory that the server works in.
func (s *Server) Dir() string { return s.dir }

func (s *Server) start() error {
	args := []string{"--dir", s.dir, "--save", "", "--daemonize", "no", "--bind", "127.0.0.1"}
	if s.cfg.Unix {
		args = append(args, "--port", "0", "--unixsocket", s.addr)
	} else {
		_, port, _ := net.SplitHostPort(s.addr)
		args = append(args, "--port", port)
	}
	if s.cfg.Password != "" {
		args = append(args, "--requirepass", s.cfg.Password)
	}
	args = append(args, s.cfg.Args...)
	if s.cfg.ConfigFile != "" {
		file, err := os.OpenFile(s.cfg.ConfigFile, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			return err
		}
		_ = file.Close()
		args = append([]string{s.cfg.ConfigFile}, args...)
	}
	cmd := exec.Command(s.binary, args...)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.binary, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.output, s.exited = cmd, out, exited
	s.mu.Unlock()

	deadline := time.Now().Add(startTimeout)
	for {
		reply, err := s.Ask("PING")
		if err == nil && !strings.HasPrefix(reply, "-LOADING") {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%s ended at once:\n%s", s.binary, out)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("%s didn't answer within %v (%q, %v):\n%s", s.binary, startTimeout, reply, err, out)
		}
	}
}

// Ask sends one command over a connection of its own and gives the first line
// of the answer, or the text where that is a bulk string. It speaks for itself
// so that a test can look past the client that it tests.
func (s *Server) Ask(args ...string) (string, error) {
	conn, err := net.DialTimeout(s.Network(), s.addr, time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	rd := bufio.NewReader(conn)
	if s.cfg.Password != "" {
		if line, err := ask(conn, rd, "AUTH", s.cfg.Password); err != nil || line != "+OK" {
			return line, errors.Join(errors.New("AUTH failed"), err)
		}
	}
	return ask(conn, rd, args...)
}

func ask(conn net.Conn, rd *bufio.Reader, args ...string) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := conn.Write(b.Bytes()); err != nil {
		return "", err
	}
	line, err := rd.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if err != nil || !strings.HasPrefix(line, "$") || line == "$-1" {
		return line, err
	}
	var n int
	if _, err := fmt.Sscanf(line, "$%d", &n); err != nil {
		return line, err
	}
	text := make([]byte, n)
	for read := 0; read < n; {
		k, err := rd.Read(text[read:])
		if err != nil {
			return "", err
		}
		read += k
	}
	return string(text), nil
}

// MustAsk is Ask for a command that must not fail.
func (s *Server) MustAsk(args ...string) string {
	s.t.Helper()
	reply, err := s.Ask(args...)
	if err != nil || strings.HasPrefix(reply, "-") {
		s.t.Fatalf("%s: %v answered %q, %v", s.addr, args, reply, err)
	}
	return reply
}

// Pause stops the process (SIGSTOP): its kernel goes on accepting connections.
// It returns when the process has stopped.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	deadline := time.Now().Add(startTimeout)
	for !s.stopped() {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s does not stop", s.addr)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		s.t.Fatalf("%s is not running", s.addr)
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("%s: %v: %v", s.addr, sig, err)
	}
}

// Kill ends the process at once (SIGKILL), and nothing if it isn't running. It
// returns when the process is gone.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop ends the process in an orderly way (SIGTERM), which writes what is to be
// written. It returns when the process is gone.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.cmd = nil
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	_ = cmd.Process.Signal(syscall.SIGCONT) // a paused process ends, too
	select {
	case <-exited:
	case <-time.After(startTimeout):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// Restart ends the process, if it runs, as Stop does, and starts it again at the
// same address in the same directory.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// output keeps what a server writes, for when it doesn't start.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.b.Len() < 1<<20 {
		o.b.Write(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
