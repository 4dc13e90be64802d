//go:build unix

package instance

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/quorum/wire"
)

// authority is a CA that a test makes.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t: t, key: key, cert: cert, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue makes a certificate for a name or an address, valid until the given time.
func (a *authority) issue(name string, until time.Time) (certPEM, keyPEM []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// secure starts a server that speaks TLS under a certificate of the CA's and returns its URL.
func secure(t testing.TB, ca *authority, name string, until time.Time, args ...string) (*instancetest.Server, string) {
	t.Helper()
	plain := instancetest.Start(t, instancetest.Config{})
	if reply := plain.MustAsk("CONFIG", "GET", "tls-port"); reply != "*2" {
		if os.Getenv(instancetest.RequireEnv) == "1" {
			t.Fatalf("redis-server was built without TLS (%q), and %s=1 asks for it", reply, instancetest.RequireEnv)
		}
		t.Skipf("redis-server was built without TLS (%q)", reply)
	}
	plain.Kill()

	dir := t.TempDir()
	cert, key := ca.issue(name, until)
	for file, content := range map[string][]byte{"cert.pem": cert, "key.pem": key, "ca.pem": ca.pem} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	addr, release, err := redisproc.Reserve()
	require.NoError(t, err)
	t.Cleanup(release)
	_, port, _ := net.SplitHostPort(addr)
	s := instancetest.Start(t, instancetest.Config{Args: append([]string{
		"--tls-port", port, "--tls-auth-clients", "no", "--tls-ca-cert-file", filepath.Join(dir, "ca.pem"),
		"--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"),
	}, args...)})
	return s, "rediss://" + addr
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// TestTLS takes and releases a lock over TLS with a CA of the user's own.
func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	_, url := secure(t, ca, "127.0.0.1", inAnHour())
	own := &tls.Config{RootCAs: ca.pool()}
	r := open(t, url, Config{TLS: own})
	holder := value()
	granted(t, r.Do(within(t), acquire("k", holder)))
	refused(t, r.Do(within(t), acquire("k", value())))
	id, err := r.Probe(within(t), wire.Known{})
	require.NoError(t, err)
	require.Equal(t, "master", id.Role)
	require.Empty(t, id.Hidden)
	granted(t, r.Do(within(t), request(wire.Release, "k", holder)))
	require.Empty(t, own.ServerName, "the caller's settings are unchanged")

	// Or with no check at all, by the URL or by the settings.
	for _, r := range []*Redis{
		open(t, url+"?skip_verify=true", Config{}),
		open(t, url+"?skip_verify=true", Config{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}),
		open(t, url, Config{TLS: &tls.Config{InsecureSkipVerify: true}}),
	} {
		granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	}

	// A hardened client of the caller's own.
	r = of(t, Harden(unhurriedOptions(redis.Options{Addr: strings.TrimPrefix(url, "rediss://"), TLSConfig: own})))
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
}

// TestTLSRefused: a connection that either side refuses sent nothing, says so, and waiting doesn't
// help.
func TestTLSRefused(t *testing.T) {
	ca := newAuthority(t)
	_, url := secure(t, ca, "127.0.0.1", inAnHour())
	_, misnamed := secure(t, ca, "redis.example", inAnHour())
	_, expired := secure(t, ca, "127.0.0.1", time.Now().Add(-time.Minute))
	_, mutual := secure(t, ca, "127.0.0.1", inAnHour(), "--tls-auth-clients", "yes")
	_, newer := secure(t, ca, "127.0.0.1", inAnHour(), "--tls-protocols", "TLSv1.3")
	ours := &tls.Config{RootCAs: ca.pool()}
	for name, test := range map[string]struct {
		url  string
		tls  *tls.Config
		says string
	}{
		"a CA of which the system knows nothing": {url, nil, "unknown authority"},
		"another CA":                             {url, &tls.Config{RootCAs: newAuthority(t).pool()}, "unknown authority"},
		"another host's certificate":             {misnamed, ours, "127.0.0.1"},
		"an expired certificate":                 {expired, ours, "expired"},
		"an older version of TLS":                {newer, &tls.Config{RootCAs: ca.pool(), MaxVersion: tls.VersionTLS12}, "versions of TLS in Config.TLS"},
		"no certificate of the client's":         {mutual, &tls.Config{RootCAs: ca.pool(), MaxVersion: tls.VersionTLS12}, "handshake failure"},
		// The client finishes before it is refused, and may find the connection closed before it reads the reason.
		"no certificate of the client's, TLS 1.3": {mutual, &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS13}, "certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, test.url, Config{TLS: test.tls})
			for _, req := range every() {
				v := failed(t, r.Do(within(t), req), ErrTLS)
				require.True(t, v.Unsent, "%v: %v", req.Op, v.Err)
				require.ErrorContains(t, v.Err, test.says)
				var own interface{ Permanent() bool }
				require.ErrorAs(t, v.Err, &own)
				require.True(t, own.Permanent())
			}
			_, err := r.Probe(within(t), wire.Known{})
			require.ErrorIs(t, err, ErrTLS)
		})
	}

	// The right name, and the client's certificate, make it work.
	r := open(t, misnamed, Config{TLS: &tls.Config{RootCAs: ca.pool(), ServerName: "redis.example"}})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
	cert, key := ca.issue("client", inAnHour())
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	r = open(t, mutual, Config{TLS: &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{pair}}})
	granted(t, r.Do(within(t), request(wire.Look, "k", "")))
}

// TestTLSHandshakeHangs: a server that accepts the connection and stays silent costs a command its
// own time, and the connection DialTimeout's. A dialer that gets a context obeys it.
func TestTLSHandshakeHangs(t *testing.T) {
	accepted, ended := make(chan struct{}, 8), make(chan struct{}, 8)
	addr := startPeer(t, func(conn net.Conn) {
		accepted <- struct{}{}
		// A ClientHello, and then the end: the client has given up.
		_, _ = io.Copy(io.Discard, conn)
		ended <- struct{}{}
	})
	awaitEnd := func() {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the handshake continues")
		}
	}

	vote := make(votes, 1)
	late := pending(t, open(t, "rediss://"+addr, Config{}), acquire("k", "v"), vote)
	<-accepted
	late()
	require.True(t, failed(t, <-vote, context.DeadlineExceeded).Unsent)
	pending(t, open(t, "rediss://"+addr+"?dial_timeout=200ms", Config{}), acquire("k", "v"), vote)
	<-accepted
	require.True(t, failed(t, <-vote, wire.ErrTimeout).Unsent)
	awaitEnd()

	dial := dialer(&redis.Options{DialTimeout: time.Hour, TLSConfig: &tls.Config{ServerName: "h"}})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-accepted; cancel() }()
	_, err := dial(ctx, "tcp", addr)
	require.ErrorIs(t, err, context.Canceled)
	awaitEnd()
}

// TestBadTLSConfig is refused before dialing.
func TestBadTLSConfig(t *testing.T) {
	for says, test := range map[string]struct {
		url string
		tls *tls.Config
	}{
		"MinVersion is TLS 1.1":        {"rediss://h", &tls.Config{MinVersion: tls.VersionTLS11}},
		"MaxVersion is TLS 1.0":        {"rediss://h", &tls.Config{MaxVersion: tls.VersionTLS10}},
		"MaxVersion is TLS 1.2":        {"rediss://h", &tls.Config{MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS12}},
		"h:6379 is not rediss://":      {"redis://u:s3cr3t@h", &tls.Config{}},
		"/run/r.sock is not rediss://": {"unix:///run/r.sock", &tls.Config{}},
	} {
		_, err := Open(test.url, Config{TLS: test.tls})
		require.ErrorIs(t, err, ErrConfig, says)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "s3cr3t")
		_, err = OpenAll(Config{TLS: test.tls}, "rediss://other", test.url)
		require.ErrorIs(t, err, ErrConfig, says)
	}
	client := redis.NewClient(Harden(nil))
	t.Cleanup(func() { _ = client.Close() })
	_, err := New(client, Config{TLS: &tls.Config{}})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "TLSConfig")

	r, err := Open("rediss://h.example:7", Config{TLS: &tls.Config{}})
	require.NoError(t, err)
	opt := r.Client().Options().TLSConfig
	require.Equal(t, "h.example", opt.ServerName)
	require.EqualValues(t, tls.VersionTLS12, opt.MinVersion)
	require.False(t, opt.InsecureSkipVerify)
	require.NoError(t, r.Close())
}
