package redisguard_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers runs a test on the embedded server, and on a real one if there is one.
func servers(t *testing.T, test func(t *testing.T, c *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) { test(t, connect(t, miniredis.RunT(t).Addr())) })
	t.Run("redis", func(t *testing.T) { test(t, connect(t, startRedis(t, t.TempDir()).addr)) })
}

func connect(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// server is a redis-server process that this test started.
type server struct {
	addr string
	cmd  *exec.Cmd
	log  *bytes.Buffer // read only after the process has ended
	gone chan struct{} // closed then
}

// startRedis starts a redis-server in dir with the given options and waits until
// it answers; it is killed at the test's end. Without the program the test is
// skipped, or fails when REDLOCK_REQUIRE_REDIS is 1.
func startRedis(t *testing.T, dir string, options ...string) *server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("REDLOCK_REQUIRE_REDIS") == "1" {
			t.Fatalf("REDLOCK_REQUIRE_REDIS is 1, but there is no redis-server on the PATH: %v", err)
		}
		t.Skip("no redis-server on the PATH")
	}
	for range 5 { // the port may be taken between the check and the start
		s := &server{addr: freeAddr(t), log: new(bytes.Buffer), gone: make(chan struct{})}
		_, port := splitAddr(t, s.addr)
		s.cmd = exec.Command(binary, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", ""}, options...)...)
		s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
		require.NoError(t, s.cmd.Start())
		go func() { _ = s.cmd.Wait(); close(s.gone) }()
		t.Cleanup(s.kill)
		if s.ready(t) {
			return s
		}
		s.kill()
		t.Logf("redis-server on port %s ended: %s", port, s.log)
	}
	t.Fatal("redis-server did not start")
	return nil
}

// ready waits for the first answer, and returns false if the process ends instead.
func (s *server) ready(t *testing.T) bool {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	deadline, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return false
		case <-deadline:
			return false
		case <-tick.C:
			if pid, err := c.InfoMap(t.Context(), "server").Result(); err == nil {
				return pid["Server"]["process_id"] == strconv.Itoa(s.cmd.Process.Pid)
			}
		}
	}
}

// kill ends the process as a crash would, and waits until it is gone.
func (s *server) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.gone
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	// A cluster node also uses the port 10000 above its own.
	if addr := l.Addr().(*net.TCPAddr); addr.Port > 55000 {
		return freeAddr(t)
	}
	return l.Addr().String()
}

func splitAddr(t *testing.T, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return host, port
}
