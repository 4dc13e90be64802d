//go:build unix

package redisproc

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A port stays reserved, also without a listener, until it is released.
func TestReservedPort(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ports are reserved on Linux only")
	}
	// A socket that asks for any port behaves like this one, which doesn't share.
	alone := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
		if err != nil {
			return err
		}
		return failed
	}}
	eventually(t, func() bool {
		addr, release, err := Reserve()
		require.NoError(t, err)
		_, err = net.Dial("tcp", addr)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		for range 2 { // the second time after a server has ended
			_, err = alone.Listen(t.Context(), "tcp", addr)
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			l, err := net.Listen("tcp", addr)
			require.NoError(t, err, "a request for this port gets it")
			require.NoError(t, l.Close())
		}
		release()
		l, err := alone.Listen(t.Context(), "tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			return false // another process may have got it at once, but not each time
		}
		require.NoError(t, err)
		require.NoError(t, l.Close())
		return true
	})
}

// A server doesn't start on a port in use. It must not be taken for the other server.
func TestAddressOfAnotherServer(t *testing.T) {
	other := start(t, Config{})
	before, err := other.Info("run_id")
	require.NoError(t, err)
	s := &Server{cfg: other.cfg, binary: other.binary, dir: t.TempDir(), addr: other.Addr(), release: func() {}}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, confFile), nil, 0o600))
	require.ErrorContains(t, s.Restart(t.Context()), "Address already in use")
	require.NoError(t, s.Close())
	after, err := other.Info("run_id")
	require.NoError(t, err)
	require.Equal(t, before, after)
}
