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

// One server is enough for rights, TLS and persistence, which only a real server has.
func TestLockOnARealServer(t *testing.T) {
	server := instancetest.Start(t, instancetest.Config{}) // skips the test where there is no redis-server
	servers, err := instance.OpenAll(instance.Config{}, "redis://"+server.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, servers.Close()) }()
	locks, err := quorum.New(quorum.Config{InstanceTimeout: 4 * time.Second}, servers.Instances()...) // a test machine is busy
	require.NoError(t, err)
	defer func() { require.NoError(t, locks.Close(context.Background())) }()
	require.NoError(t, locks.Trust(t.Context())) // it was just started, for this test

	require.NoError(t, rollOver(t.Context(), locks, "2026-01-31", func(context.Context, fencing.Token) error { return nil }))
}

// aclRule is the command in deploying.md, in words.
func aclRule(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("deploying.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```text\n(ACL SETUSER .*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, found, "deploying.md has no ACL SETUSER in a block")
	return strings.Fields(found[1])
}

// A user with exactly the rights on the page can do all that the library does, and without any one
// of them something fails.
func TestACLRule(t *testing.T) {
	t.Parallel() // it mostly waits for servers
	server := instancetest.Start(t, instancetest.Config{})
	rule := instancetest.Rights(t, aclRule(t)...)
	for i, word := range rule {
		if word == "orders" {
			rule[i] = "user-all"
		}
	}
	server.MustAsk(rule...)
	require.NoError(t, useLocks(t, server, "user-all", 10*time.Minute))

	// PING checks a subscription that was silent for long, and LPUSH puts a waiter that was
	// notified too late in front again: neither happens here.
	unused := map[string]bool{"+ping": true, "+lpush": true}
	for i, right := range rule {
		if !strings.HasPrefix(right, "+") && !strings.HasPrefix(right, "&") && !strings.HasPrefix(right, "~") || unused[right] {
			continue
		}
		user := fmt.Sprintf("user-%d", i)
		server.MustAsk("SCRIPT", "FLUSH") // otherwise no client has to send a script
		server.MustAsk("FLUSHALL")        // keys that earlier users couldn't delete
		less := append([]string{"ACL", "SETUSER", user}, rule[3:i]...)
		server.MustAsk(append(less, rule[i+1:]...)...)
		require.Error(t, useLocks(t, server, user, time.Second), "no operation needs %s", right)
	}
}

// useLocks uses the library's features as a user, and returns what failed or what a hook reported.
func useLocks(t *testing.T, server *instancetest.Server, user string, maxWait time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var reported atomic.Pointer[error]
	queued := make(chan string, 10) // the key of each goroutine that waits in the queue of its process
	note := func(err error) { reported.CompareAndSwap(nil, &err) }
	clients := make([]*quorum.Coordinator, 2)
	for i := range clients {
		inst, err := instance.Open("redis://"+user+":CHANGE-ME@"+server.Addr(), instance.Config{})
		require.NoError(t, err)
		defer func() { require.NoError(t, inst.Close()) }()
		// A waiter without a notification doesn't poll before the wait is over. A server that is slow on a
		// busy machine is none that doesn't answer.
		clients[i], err = quorum.New(quorum.Config{TTL: 20 * time.Second, MaxWait: maxWait, InstanceTimeout: 9 * time.Second, Lab: quorum.Lab{BackoffMin: time.Hour, BackoffMax: time.Hour}, Hooks: quorum.Hooks{
			WaitStarted:  func(_ context.Context, e quorum.WaitStart) { queued <- e.Key },
			Unprotected:  func(e quorum.UnprotectedEvent) { note(fmt.Errorf("hidden: %v", e.Hidden)) },
			CannotNotify: func(e quorum.CannotNotifyEvent) { note(e.Err) },
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
	waiting := func() string {
		return strings.TrimPrefix(server.MustAsk("LLEN", instance.WaitersKey("orders:42")), ":")
	}
	err = lockInTurns(ctx, clients[0], clients[1], "orders:42", func(over <-chan error) error {
		for reported.Load() == nil && waiting() == "0" {
			if len(over) > 0 {
				return fmt.Errorf("a waiter was never in the queue")
			}
			time.Sleep(time.Millisecond)
		}
		if err := reported.Load(); err != nil {
			return *err
		}
		return nil
	}, func() error {
		if err := clients[1].Settle(ctx); err != nil {
			return err
		}
		if n := waiting(); n != "0" {
			return fmt.Errorf("the queue has %s entries, and there is no waiter", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := shareLock(ctx, clients[0], "orders:43", queued); err != nil {
		return err
	}
	if _, err := clients[0].TryAcquire(ctx, "invoices:42"); err == nil {
		return fmt.Errorf("another application's key was locked")
	}
	if err := reported.Load(); err != nil {
		return *err
	}
	return nil
}

// lockInTurns has one client hold a lock for which the other one waits: it gives up first, and then it waits again.
//
// queued returns when the other one is in the wait queue, or can't be; left reports whether a
// waiter that gave up is out of the queue.
func lockInTurns(ctx context.Context, first, second *quorum.Coordinator, key string, queued func(over <-chan error) error, left func() error) error {
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
		return fmt.Errorf("%s seems to have no holder", key)
	}
	wait := func(end func(cancel func()) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		over := make(chan error, 1)
		go func() {
			lease, err := second.Acquire(ctx, key)
			if err == nil {
				err = lease.Release(ctx)
			}
			over <- err
		}()
		err := queued(over)
		if err == nil {
			err = end(cancel)
		}
		if err != nil {
			cancel()
			<-over
			return err
		}
		return <-over
	}
	if err := wait(func(cancel func()) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a waiter that gave up: %w", err)
	}
	if err := left(); err != nil {
		return err
	}
	return wait(func(func()) error { return lease.Release(ctx) })
}

// shareLock has goroutines of one client take turns. All wait before there is the first grant to one of them, so
// it reserves tokens for the others.
func shareLock(ctx context.Context, c *quorum.Coordinator, key string, queued <-chan string) error {
	lease, err := c.TryAcquire(ctx, key)
	if err != nil {
		return err
	}
	const waiters = 4
	var group errgroup.Group
	for range waiters {
		group.Go(func() error {
			lease, err := c.Acquire(ctx, key)
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		})
	}
	for n := 0; n < waiters && ctx.Err() == nil; {
		select {
		case other := <-queued:
			if other == key {
				n++
			}
		case <-ctx.Done():
		}
	}
	// A new counter begins some milliseconds above the servers' clocks, and the reserved tokens are below them.
	for time.Now().UnixMicro() <= int64(lease.Token())+waiters {
		time.Sleep(time.Millisecond)
	}
	return errors.Join(lease.Release(ctx), group.Wait())
}
