//go:build unix

package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// One server is enough for what only a real one shows: rights, TLS, persistence.
func TestLockOnARealServer(t *testing.T) {
	server := instancetest.Start(t, instancetest.Config{}) // skips the test where there is no redis-server
	servers, err := instance.OpenAll(instance.Config{}, "redis://"+server.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, servers.Close()) }()
	locks, err := quorum.New(quorum.Config{}, servers.Instances()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()
	require.NoError(t, locks.Trust(t.Context())) // it has just been started, for this test

	require.NoError(t, rollOver(t.Context(), locks, "2026-01-31", func(context.Context, fencing.Token) error { return nil }))
}

// aclRule is the command that deploying.md gives to copy, in words.
func aclRule(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("deploying.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```text\n(ACL SETUSER .*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, found, "deploying.md has no ACL SETUSER in a block")
	return strings.Fields(found[1])
}

// A user with the rights on the page, and no others, can do all that the library does,
// and none of the rights can be left out without somebody noticing.
func TestACLRule(t *testing.T) {
	t.Parallel() // it waits for servers most of the time
	server := instancetest.Start(t, instancetest.Config{})
	rule := aclRule(t)
	for i, word := range rule {
		if word == "orders" {
			rule[i] = "user-all"
		}
	}
	server.MustAsk(rule...)
	require.NoError(t, useLocks(t, server, "user-all", 10*time.Second))

	// PING asks for a waiter's connection that was silent for long, LPUSH puts one that
	// was called too late in front again: neither happens here.
	spare := map[string]bool{"+ping": true, "+lpush": true}
	for i, right := range rule {
		if !strings.HasPrefix(right, "+") && !strings.HasPrefix(right, "&") && !strings.HasPrefix(right, "~") || spare[right] {
			continue
		}
		user := fmt.Sprintf("user-%d", i)
		server.MustAsk("SCRIPT", "FLUSH") // or nobody has to send one
		server.MustAsk("FLUSHALL")        // what those before couldn't give back
		less := append([]string{"ACL", "SETUSER", user}, rule[3:i]...)
		server.MustAsk(append(less, rule[i+1:]...)...)
		require.Error(t, useLocks(t, server, user, time.Second), "nobody misses %s", right)
	}
}

// useLocks does as a user what the library can do, and says what it couldn't, or what
// it was told that it can't.
func useLocks(t *testing.T, server *instancetest.Server, user string, maxWait time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var told atomic.Pointer[error]
	tell := func(err error) { told.CompareAndSwap(nil, &err) }
	clients := make([]*quorum.Coordinator, 2)
	for i := range clients {
		inst, err := instance.Open("redis://"+user+":CHANGE-ME@"+server.Addr(), instance.Config{})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		// Who isn't called doesn't look by itself before the wait is over.
		terms := quorum.Terms{MaxWait: maxWait}
		clients[i], err = quorum.New(quorum.Config{Terms: terms, InstanceTimeout: time.Second, BackoffMin: time.Hour, BackoffMax: time.Hour, Hooks: quorum.Hooks{
			Unprotected:  func(e quorum.UnprotectedEvent) { tell(fmt.Errorf("hidden: %v", e.Hidden)) },
			CannotNotify: func(e quorum.CannotNotifyEvent) { tell(e.Err) },
		}}, inst)
		require.NoError(t, err)
		defer func() { require.NoError(t, clients[i].Close(context.Background())) }()
		if err := clients[i].Trust(ctx); err != nil {
			return err
		}
	}
	report, err := clients[0].Verify(ctx)
	if err != nil {
		return err
	}
	if hidden := report.Instances[0].Identity.Hidden; len(hidden) > 0 {
		return fmt.Errorf("hidden: %v", hidden)
	}
	line := func() string {
		return strings.TrimPrefix(server.MustAsk("LLEN", instance.WaitersKey("orders:42")), ":")
	}
	err = lockInTurns(ctx, clients[0], clients[1], "orders:42", func() error {
		require.Eventually(t, func() bool { return told.Load() != nil || line() != "0" }, 10*time.Second, time.Millisecond)
		if err := told.Load(); err != nil {
			return *err
		}
		return nil
	}, func() error {
		if err := clients[1].Settle(ctx); err != nil {
			return err
		}
		if n := line(); n != "0" {
			return fmt.Errorf("the line has %s waiters, and nobody waits", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := shareLock(ctx, clients[0], "orders:43"); err != nil {
		return err
	}
	if _, err := clients[0].TryAcquire(ctx, "invoices:42"); err == nil {
		return fmt.Errorf("another application's key was locked")
	}
	if err := told.Load(); err != nil {
		return *err
	}
	return nil
}

// lockInTurns has one client hold a lock that the other one waits for.
//
// inLine waits until the other one stands in line, or never will; left says whether
// the one who has given up stands there no more.
func lockInTurns(ctx context.Context, first, second *quorum.Coordinator, key string, inLine, left func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lease, err := first.TryAcquire(ctx, key)
	if err != nil {
		return err
	}
	if err := lease.Extend(ctx); err != nil {
		return err
	}
	found, err := second.Inspect(ctx, key)
	if err != nil {
		return err
	}
	if found.Held() == nil {
		return fmt.Errorf("nobody seems to hold %s", key)
	}
	hasty, err := second.WithTerms(func(t *quorum.Terms) { t.MaxWait = 50 * time.Millisecond })
	if err != nil {
		return err
	}
	if _, err := hasty.Acquire(ctx, key); !errors.Is(err, quorum.ErrExhausted) {
		return err
	}
	if err := left(); err != nil {
		return err
	}
	next := make(chan error, 1)
	go func() {
		lease, err := second.Acquire(ctx, key)
		if err == nil {
			err = lease.Release(ctx)
		}
		next <- err
	}()
	if err := inLine(); err != nil {
		cancel()
		return errors.Join(err, <-next)
	}
	if err := lease.Release(ctx); err != nil {
		return err
	}
	return <-next
}

// shareLock has goroutines of one client take turns: whoever gets the lock takes tokens
// for those that stand in line.
func shareLock(ctx context.Context, c *quorum.Coordinator, key string) error {
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for range 20 {
				lease, err := c.Acquire(ctx, key)
				if err != nil {
					return err
				}
				if err := lease.Release(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
