package certmagiclock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/certmagiclock"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is five servers in virtual time, a storage and a CA that several processes share.
type world struct {
	t       *testing.T
	ctx     context.Context
	servers quorumtest.Servers
	storage certmagic.Storage
	ca      *ca
}

func play(t *testing.T, test func(w *world)) {
	t.Helper()
	storage := &certmagic.FileStorage{Path: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: t.Context(), servers: quorumtest.NewServers(5), storage: storage, ca: newCA(t)}
		test(w)
	})
}

// ca is a CA that takes 5 s to issue a certificate.
type ca struct {
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	issued atomic.Int32
	asked  atomic.Int32
	inside atomic.Int32
	most   atomic.Int32 // at one time
	fails  atomic.Int32 // so many next requests

	isLocked func() bool  // if it is set
	locked   atomic.Int32 // requests under a lock
}

func newCA(t *testing.T) *ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &ca{key: key, cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, IsCA: true}}
}

func (*ca) IssuerKey() string { return "test" }

func (c *ca) Issue(ctx context.Context, csr *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	c.asked.Add(1)
	if c.isLocked != nil && c.isLocked() {
		c.locked.Add(1)
	}
	if n := c.inside.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.inside.Add(-1)
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.fails.Add(-1) >= 0 {
		return nil, errors.New("the CA is down")
	}
	serial := c.issued.Add(1)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(int64(serial) + 1), DNSNames: csr.DNSNames, NotBefore: time.Now(), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}, c.cert, csr.PublicKey, c.key)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// process is one process: its certmagic, and its Locker.
type process struct {
	*certmagic.Config
	*certmagiclock.Locker
	locks *quorum.Coordinator
}

func (w *world) process() *process {
	w.t.Helper()
	locks, err := quorum.New(quorum.Config{}, w.servers.Instances()...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, locks.Close(context.Background())) })
	locker, err := certmagiclock.New(locks, "certmagic/")
	require.NoError(w.t, err)
	return &process{w.certmagic(certmagiclock.Storage(w.storage, locker)), locker, locks}
}

// certmagic is a process's, on a storage.
func (w *world) certmagic(storage certmagic.Storage) (cfg *certmagic.Config) {
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return cfg, nil },
		Logger:           zap.NewNop(),
	})
	w.t.Cleanup(cache.Stop)
	return certmagic.New(cache, certmagic.Config{Storage: storage, Issuers: []certmagic.Issuer{w.ca}, Logger: zap.NewNop()})
}

// obtain has all of them obtain a certificate for a name, at the same time.
func (w *world) obtain(all ...*certmagic.Config) {
	w.t.Helper()
	var wait sync.WaitGroup
	for _, cfg := range all {
		wait.Go(func() { assert.NoError(w.t, cfg.ObtainCertSync(w.ctx, "example.com")) })
	}
	wait.Wait()
}

// Of several processes that need a certificate one obtains it. The others find it in the storage.
// Without a lock each of them obtains one.
func TestOneObtains(t *testing.T) {
	play(t, func(w *world) {
		var all []*certmagic.Config
		for range 4 {
			all = append(all, w.process().Config)
		}
		w.obtain(append(all, all[0])...) // one of them twice at once
		require.EqualValues(t, 1, w.ca.asked.Load())
		synctest.Wait()
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
		require.True(t, w.storage.Exists(w.ctx, certmagic.StorageKeys.SiteCert("test", "example.com")))
	})
	play(t, func(w *world) {
		w.obtain(w.certmagic(unlocked{w.storage}), w.certmagic(unlocked{w.storage}))
		require.EqualValues(t, 2, w.ca.asked.Load())
	})
}

// unlocked is a storage whose locks exclude nobody.
type unlocked struct{ certmagic.Storage }

func (unlocked) Lock(context.Context, string) error   { return nil }
func (unlocked) Unlock(context.Context, string) error { return nil }

// A process dies with the lock. Another one has it a TTL later.
func TestCrash(t *testing.T) {
	play(t, func(w *world) {
		dies := w.process()
		require.NoError(t, dies.Lock(w.ctx, "issue_cert_example.com"))
		time.Sleep(time.Minute)
		for _, s := range w.servers {
			require.Equal(t, []string{"certmagic/issue_cert_example.com"}, s.Keys(), "it is kept alive")
		}
		require.NoError(t, dies.locks.Close(w.ctx)) // nothing is sent any more
		at := time.Now()
		other := w.process()
		require.NoError(t, other.Lock(w.ctx, "issue_cert_example.com"))
		require.LessOrEqual(t, time.Since(at), 10*time.Second+100*time.Millisecond)
		require.NoError(t, other.Unlock(w.ctx, "issue_cert_example.com"))
	})
}

// A try fails, and the lock is kept until the next, minutes later. Another process waits for it.
func TestKeptBetweenTries(t *testing.T) {
	play(t, func(w *world) {
		w.ca.fails.Store(2)
		var all sync.WaitGroup
		for range 3 {
			p := w.process()
			all.Go(func() { assert.NoError(t, p.ObtainCertAsync(w.ctx, "example.com")) })
		}
		all.Wait()
		require.EqualValues(t, 3, w.ca.asked.Load())
		require.EqualValues(t, 1, w.ca.most.Load())
		require.EqualValues(t, 1, w.ca.issued.Load())
	})
}

// The lock is lost between two tries, and another process has it at the next. The CA isn't asked
// until it is free.
func TestTakenBetweenTries(t *testing.T) {
	play(t, func(w *world) {
		ended := w.loseBetweenTries()
		rival := w.process()
		require.NoError(t, rival.Lock(w.ctx, "issue_cert_example.com"))
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 1, w.ca.asked.Load())
		require.NoError(t, rival.Unlock(w.ctx, "issue_cert_example.com"))
		require.NoError(t, <-ended)
		require.EqualValues(t, 2, w.ca.locked.Load())
	})
}

// loseBetweenTries has a process try once in vain, and lose the lock before its next try.
func (w *world) loseBetweenTries() (ended chan error) {
	w.ca.fails.Store(1)
	w.ca.isLocked = func() bool {
		n := 0
		for _, s := range w.servers {
			n += len(s.Keys())
		}
		return n >= 3
	}
	p := w.process()
	ended = make(chan error, 1)
	go func() { ended <- p.ObtainCertAsync(w.ctx, "example.com") }()
	time.Sleep(10 * time.Second) // the first try has failed
	lease := p.Lease("issue_cert_example.com")
	require.NoError(w.t, lease.Err())
	for _, s := range w.servers[:3] {
		s.Hang()
	}
	time.Sleep(20 * time.Second)
	require.ErrorIs(w.t, lease.Err(), quorum.ErrLost)
	for _, s := range w.servers[:3] {
		s.Resume()
	}
	return ended
}

func TestTryLock(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.process(), w.process()
		ok, err := a.TryLock(w.ctx, "ari_1")
		require.NoError(t, err)
		require.True(t, ok)
		for _, p := range []*process{a, b} {
			ok, err = p.TryLock(w.ctx, "ari_1")
			require.NoError(t, err)
			require.False(t, ok)
		}
		require.NoError(t, a.RenewLockLease(w.ctx, "ari_1", time.Hour))
		require.ErrorIs(t, b.Unlock(w.ctx, "ari_1"), certmagiclock.ErrNotLocked)
		require.ErrorIs(t, b.RenewLockLease(w.ctx, "ari_1", time.Hour), certmagiclock.ErrNotLocked)
		require.NotZero(t, a.Lease("ari_1").Token())
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		require.NoError(t, a.Unlock(ended, "ari_1"))
		require.Nil(t, a.Lease("ari_1"))
		_, err = b.TryLock(ended, "ari_1")
		require.ErrorIs(t, err, context.Canceled)
		ok, err = b.TryLock(w.ctx, "ari_1")
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, b.Unlock(w.ctx, "ari_1"))
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		require.NoError(t, a.Lock(ctx, "k"))
		require.ErrorIs(t, b.Lock(ctx, "k"), context.DeadlineExceeded)
		for _, s := range w.servers[:3] {
			s.Kill()
		}
		_, err = b.TryLock(w.ctx, "j")
		require.ErrorIs(t, err, quorum.ErrNoQuorum)
		require.NoError(t, a.Unlock(w.ctx, "k"), "the deletes are pending")
	})
}

// lose has a process lose its lock of a name that is locked already.
func (w *world) lose(p *process, name string) {
	lease := p.Lease(name)
	for _, s := range w.servers { // an operator's mistake
		s.Delete("certmagic/" + name)
	}
	<-lease.Done()
	require.ErrorIs(w.t, lease.Err(), quorum.ErrLost)
}

// A goroutine has lost its lock, and another one of its process waits for it. The first takes it anew.
// They are never told at once that they have it.
func TestLostHolderTakesItAnewBeforeOthers(t *testing.T) {
	play(t, func(w *world) {
		a := w.process()
		require.NoError(t, a.Lock(w.ctx, "k"))
		w.lose(a, "k")
		second := make(chan error, 1)
		go func() { second <- a.Lock(w.ctx, "k") }()
		time.Sleep(time.Minute)
		ok, err := a.TryLock(w.ctx, "k")
		require.NoError(t, err)
		require.False(t, ok)
		require.Error(t, a.Lease("k").Err(), "nobody has it")
		require.NoError(t, a.RenewLockLease(w.ctx, "k", time.Hour))
		require.NoError(t, a.Lease("k").Err())
		time.Sleep(time.Minute)
		require.Empty(t, second)
		require.NoError(t, a.Unlock(w.ctx, "k"))
		require.NoError(t, <-second)
		require.NoError(t, a.Unlock(w.ctx, "k"))
		require.ErrorIs(t, a.Unlock(w.ctx, "k"), certmagiclock.ErrNotLocked)
	})
}

// A goroutine that has lost its lock unlocks, or another one gives up waiting for that. The lock is free
// for others meanwhile, and the Unlock frees nothing.
func TestLostHolderUnlocksNothing(t *testing.T) {
	play(t, func(w *world) {
		a, b := w.process(), w.process()
		require.NoError(t, a.Lock(w.ctx, "k"))
		w.lose(a, "k")
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		require.ErrorIs(t, a.Lock(ctx, "k"), context.DeadlineExceeded)
		second := make(chan error, 1)
		go func() { second <- a.Lock(w.ctx, "k") }()
		time.Sleep(time.Second)
		require.NoError(t, b.Lock(w.ctx, "k"), "another process doesn't wait for the Unlock")
		require.Error(t, a.RenewLockLease(w.ctx, "k", time.Hour))
		require.ErrorIs(t, a.Unlock(w.ctx, "k"), quorum.ErrLost)
		time.Sleep(time.Second)
		require.Empty(t, second)
		require.NoError(t, b.Lease("k").Err())
		require.NoError(t, b.Unlock(w.ctx, "k"))
		require.NoError(t, <-second)
		require.NoError(t, a.RenewLockLease(w.ctx, "k", time.Hour))
		require.NoError(t, a.Unlock(w.ctx, "k"))
		synctest.Wait()
		for _, s := range w.servers {
			require.Empty(t, s.Keys())
		}
	})
}

func TestMistakes(t *testing.T) {
	_, err := certmagiclock.New(nil, "certmagic/")
	require.ErrorIs(t, err, quorum.ErrConfig)
	play(t, func(w *world) {
		p := w.process()
		_, err := certmagiclock.New(p.locks, "{a}")
		require.ErrorIs(t, err, quorum.ErrConfig)
		require.ErrorIs(t, p.Lock(w.ctx, "{}"), quorum.ErrConfig)
	})
}
