//go:build unix

// Package instancetest runs real Redis servers for tests. Each has its own process and
// directory, and ends with the test. Package redisproc does the same for programs.
//
// Without a redis-server on the PATH the test is skipped, or fails if the
// environment has REDLOCK_REQUIRE_REDIS=1.
package instancetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// RequireEnv names the environment variable that, set to 1, makes a missing
// server a failure.
const RequireEnv = "REDLOCK_REQUIRE_REDIS"

// PythonEnv is the name of the environment variable that, set to 1, makes a missing Python a
// failure.
const PythonEnv = "REDLOCK_REQUIRE_PYTHON"

// Python is the path of python3. Without it the test is skipped, or fails if the environment asks
// for it.
func Python(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		missing(t, err, PythonEnv)
	}
	return path
}

// missing skips the test without a program, or fails it if the environment asks for the program.
func missing(t testing.TB, err error, env string) {
	t.Helper()
	if os.Getenv(env) == "1" {
		t.Fatalf("%v, and %s=1 asks for it", err, env)
	}
	t.Skip(err)
}

// Config says what to start. The zero Config is redis-server on a free port of
// the loopback interface, in memory only.
type Config = redisproc.Config

// Server is a running server. Its methods fail the test instead of returning errors. They may
// be called from several goroutines, which must end before the test does.
type Server struct {
	*redisproc.Server
	t testing.TB
}

// Start starts a server and returns when it answers.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	server, err := redisproc.Start(context.Background(), cfg)
	check(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return &Server{server, t}
}

// check ends the test after an error. If the server is missing, it is skipped.
func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, redisproc.ErrMissing):
		missing(t, err, RequireEnv)
	case err != nil:
		t.Fatal(err)
	}
}

// Since reports whether servers can do what Redis can from a version on. Each Valkey, which began
// as Redis 7.2, can do what that can.
func Since(t testing.TB, major, minor int) bool {
	t.Helper()
	product, err := Config{}.Product()
	check(t, err)
	isMajor, isMinor := 7, 2
	_, _ = fmt.Sscanf(product, "redis %d.%d", &isMajor, &isMinor)
	return isMajor > major || isMajor == major && isMinor >= minor
}

// Needs skips the test on servers that can't do what Redis can from a version on.
func Needs(t testing.TB, major, minor int, what string) {
	t.Helper()
	if !Since(t, major, minor) {
		t.Skipf("%s only from Redis %d.%d on", what, major, minor)
	}
}

// Rights leaves out of an ACL's rules those for channels where servers have none.
func Rights(t testing.TB, rules ...string) []string {
	t.Helper()
	if Since(t, 6, 2) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		return strings.HasPrefix(rule, "&") || rule == "resetchannels"
	})
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

// MustAsk is Ask for a command that must not fail. Of ACL SETUSER it sends only Rights.
func (s *Server) MustAsk(args ...string) string {
	s.t.Helper()
	if len(args) > 1 && args[0] == "ACL" && args[1] == "SETUSER" {
		args = Rights(s.t, args...)
	}
	reply, err := s.Server.MustAsk(args...)
	check(s.t, err)
	return reply
}

// Pause stops the process (SIGSTOP), and returns when it has stopped. The kernel still
// accepts connections.
func (s *Server) Pause() {
	s.t.Helper()
	check(s.t, s.Server.Pause())
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	check(s.t, s.Server.Resume())
}

// Restart stops the process, if it runs, and starts it again at the same address in the same
// directory.
func (s *Server) Restart() {
	s.t.Helper()
	check(s.t, s.Server.Restart(context.Background()))
}
