package instance

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFreshConn: the kernel is asked about a connection unless something came over it
// a moment ago.
func TestFreshConn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	server, err := listener.Accept()
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()

	conn, ok := fresh(client).(*freshConn)
	require.True(t, ok)
	asksKernel := func() bool {
		raw, err := conn.SyscallConn()
		require.NoError(t, err)
		asked := false
		require.NoError(t, raw.Control(func(uintptr) { asked = true }))
		return asked
	}
	require.True(t, asksKernel(), "nothing came yet")
	_, err = server.Write([]byte("x"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), conn.last, 5*time.Second)
	conn.last = time.Now().Add(time.Hour) // however slow this machine is
	require.False(t, asksKernel())
	conn.last = time.Now().Add(-freshFor)
	require.True(t, asksKernel())

	a, b := net.Pipe()
	defer func() { require.NoError(t, a.Close()); require.NoError(t, b.Close()) }()
	require.Equal(t, a, fresh(a), "go-redis asks nothing of what isn't a system's connection")
	_, isConn := fresh(a).(syscall.Conn)
	require.False(t, isConn)
}

// TestQuietConnectionIsReplaced: a connection that the server closed while nothing was
// asked costs no vote.
func TestQuietConnectionIsReplaced(t *testing.T) {
	r, s := real(t, Config{})
	granted(t, r.Do(within(t), acquire("first", value())))
	s.MustAsk("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	time.Sleep(2 * freshFor) // the quiet is what this is about
	granted(t, r.Do(within(t), acquire("second", value())))
}
