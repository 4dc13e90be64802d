//go:build unix

package instancetest_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance/instancetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServerLivesAndDies does all that a test can do to a server.
func TestServerLivesAndDies(t *testing.T) {
	s := instancetest.Start(t, instancetest.Config{Password: "secret", Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	require.Equal(t, "+OK", s.MustAsk("SET", "k", "v"))
	require.Equal(t, "v", s.MustAsk("GET", "k"))

	s.Pause()
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err, "a stopped server's kernel accepts")
	_, err = conn.Write([]byte("AUTH secret\r\nPING\r\n"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "a stopped server answers nothing")
	s.Resume()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err, "it answers when it runs again")
	require.NoError(t, conn.Close())

	s.Pause()
	s.Kill()
	_, err = s.Ask("PING")
	require.Error(t, err, "it is gone")
	s.Restart()
	require.Equal(t, "v", s.MustAsk("GET", "k"), "same directory, same address")
}

// The versions of the server decide what a test needs.
func TestSince(t *testing.T) {
	instancetest.Needs(t, 1, 0, "scripts are")
	require.False(t, instancetest.Since(t, 99, 0))
}
