package goredis_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/quorum/adapters/redsync"
	goredis "github.com/redquorum/redlock/quorum/adapters/redsync/redis/goredis/v9"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client that stands for several servers is no pool.
func TestOtherClients(t *testing.T) {
	sentinel := client.NewFailoverClient(&client.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	cluster := client.NewClusterClient(&client.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	for says, c := range map[string]client.UniversalClient{
		"a failover client (Sentinel)": sentinel,
		"a *redis.ClusterClient":       cluster,
		"a nil *redis.Client":          (*client.Client)(nil),
		"client is nil":                nil,
	} {
		rs := redsync.New(goredis.NewPool(c))
		require.ErrorIs(t, rs.Err(), instance.ErrClientOptions)
		require.ErrorContains(t, rs.Err(), says)
		require.ErrorIs(t, rs.NewMutex("k").Lock(), instance.ErrClientOptions)
	}
	require.NoError(t, sentinel.Close())
	require.NoError(t, cluster.Close())
}

// The instance gets the client's options. A dialer that is the program's own is kept. go-redis's is
// replaced, because it would dial as the given client's options say.
func TestClientsOptions(t *testing.T) {
	dialed := make(chan string, 1)
	for _, c := range []*client.Client{
		client.NewClient(&client.Options{Addr: "127.0.0.1:1", Username: "u", DB: 3, TLSConfig: &tls.Config{ServerName: "s"}}),
		client.NewClient(&client.Options{Addr: "127.0.0.1:1", Username: "u", DB: 3, TLSConfig: &tls.Config{ServerName: "s"}, Dialer: func(_ context.Context, _, addr string) (net.Conn, error) {
			dialed <- addr
			return nil, net.ErrClosed
		}}),
	} {
		server, closing, err := goredis.NewPool(c).Open()
		require.NoError(t, err)
		opt := server.(*instance.Redis).Client().Options()
		require.Equal(t, "u", opt.Username)
		require.Equal(t, 3, opt.DB)
		require.Equal(t, "s", opt.TLSConfig.ServerName)
		require.Zero(t, opt.MaxRetries)
		_, err = opt.Dialer(t.Context(), "tcp", opt.Addr)
		require.NoError(t, err, "the error comes with the handshake")
		require.NoError(t, closing())
		require.NoError(t, c.Close())
	}
	require.Equal(t, "127.0.0.1:1", <-dialed)
	require.Empty(t, dialed)
}

// The timeout for dialing counts for how long an expiry may be, see redsync.WithExpiry. go-redis's
// default would take three seconds more than an instance's.
func TestDialTimeout(t *testing.T) {
	for given, life := range map[time.Duration]time.Duration{0: 7 * time.Second, 3 * time.Second: 8 * time.Second} {
		c := client.NewClient(&client.Options{Addr: "127.0.0.1:1", DialTimeout: given})
		server, closing, err := goredis.NewPool(c).Open()
		require.NoError(t, err)
		require.Equal(t, life, server.(*instance.Redis).ConnLife())
		require.NoError(t, closing())
		require.NoError(t, c.Close())
	}
}

// A server that accepts connections and says nothing: the context ends the TLS handshake, though the
// program's client would wait for an hour.
func TestHandshakeEndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	c := client.NewClient(&client.Options{Addr: listener.Addr().String(), DialTimeout: time.Hour, TLSConfig: &tls.Config{ServerName: "s"}})
	defer func() { require.NoError(t, c.Close()) }()
	server, closing, err := goredis.NewPool(c).Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, closing()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	conn, err := server.(*instance.Redis).Client().Options().Dialer(ctx, "tcp", listener.Addr().String())
	require.NoError(t, err, "the error comes with the handshake")
	_, err = conn.Read(nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
