package subscription_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum/internal/background"
	"github.com/redquorum/redlock/quorum/internal/subscription"
	"github.com/redquorum/redlock/quorum/wire"
)

var errPermanent = errors.New("no right to subscribe")

// server is a Notifier with one Subscription at a time.
type server struct {
	wire.Instance
	err        error
	keys       chan string
	subscribed atomic.Int32
	run        atomic.Value // of wire.Run
	notified   []string     // keys that were passed on
	changed    []string
	waits      bool // a goroutine waits for each key
	cannot     []error

	mu       sync.Mutex
	requests []string      // in the order in which they are carried out
	slow     time.Duration // a request takes less
}

func (s *server) Subscribe(context.Context) (wire.Subscription, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.subscribed.Add(1)
	s.keys = make(chan string, 1)
	return &connection{keys: s.keys}, nil
}

func (s *server) Enqueue(w wire.Waiter, _ time.Duration, to wire.Receiver) {
	s.request("enqueue "+w.Key, to)
}

func (s *server) Dequeue(w wire.Waiter, _ time.Duration, to wire.Receiver) {
	s.request("dequeue "+w.Key, to)
}

// request takes a while that is shorter for each later request.
func (s *server) request(what string, to wire.Receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow /= 2
	time.AfterFunc(s.slow, func() {
		s.mu.Lock()
		s.requests = append(s.requests, what)
		s.mu.Unlock()
		to.Receive(wire.Vote{Outcome: wire.Granted})
	})
}

type connection struct {
	keys   chan string
	closed bool
}

func (c *connection) Address() string { return "address" }

func (c *connection) Next() (string, error) {
	key, ok := <-c.keys
	if !ok {
		return "", errors.New("closed")
	}
	return key, nil
}

func (c *connection) Close() error {
	if !c.closed {
		c.closed = true
		close(c.keys)
	}
	return nil
}

func play(t *testing.T, do func(t *testing.T, s *server, k *subscription.Keeper)) {
	synctest.Test(t, func(t *testing.T) {
		s, group := &server{waits: true}, background.New()
		s.run.Store(wire.Run("one"))
		var k *subscription.Keeper
		k = subscription.New(subscription.Config{
			Notifier: s, Clock: clock.New(), Reader: drift.SystemReader(), Group: group,
			SubscribeTimeout: time.Second, QueueTTL: time.Minute,
			Ask: func(_ context.Context, _ wire.Op, send func(time.Duration, wire.Receiver)) wire.Vote {
				answer := make(chan wire.Vote, 1)
				send(time.Second, wire.ReceiverFunc(func(v wire.Vote) { answer <- v }))
				return <-answer
			},
			Run:       func() wire.Run { return s.run.Load().(wire.Run) },
			Permanent: func(err error) bool { return errors.Is(err, errPermanent) },
			Notified: func(key, address string) {
				if s.notified = append(s.notified, key); !s.waits {
					k.Dequeue(key, address)
				}
			},
			Changed:      func(address string) { s.changed = append(s.changed, address) },
			CannotNotify: func(err error) { s.cannot = append(s.cannot, err) },
		})
		do(t, s, k)
		group.Close()
		require.NoError(t, group.Wait(context.Background()))
	})
}

func TestASubscriptionLastsWhileItIsUsed(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		require.Empty(t, k.Address())
		k.Use()
		time.Sleep(time.Hour)
		require.Equal(t, "address", k.Address())
		require.Equal(t, int32(1), s.subscribed.Load())
		k.Leave()
		time.Sleep(5 * time.Second)
		require.Equal(t, "address", k.Address(), "for some time after")
		time.Sleep(time.Minute)
		require.Empty(t, k.Address())
		synctest.Wait()
		require.Equal(t, []string{"address", ""}, s.changed)
	})
}

// A notification for which no goroutine waits is passed to the next process.
func TestNotifications(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		k.Use()
		defer k.Leave()
		synctest.Wait()
		require.Equal(t, subscription.Answer{Queued: true}, <-k.Enqueue(t.Context(), "k", k.Address(), false, false))
		s.keys <- "k"
		synctest.Wait()
		require.Equal(t, []string{"k"}, s.notified)
		require.Equal(t, []string{"enqueue k"}, s.requests)
		s.waits = false
		s.keys <- "k"
		synctest.Wait()
		require.Equal(t, []string{"enqueue k", "dequeue k"}, s.requests)
	})
}

// The waiters of a process share a position. So the request of one doesn't overtake that of another,
// though it would be faster. Requests about other keys don't wait.
func TestRequestsAboutAKeyAreInOrder(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		s.slow = time.Minute
		first := k.Enqueue(t.Context(), "k", "address", false, false)
		synctest.Wait() // it is under way when its waiter leaves, and the next one comes
		k.Dequeue("k", "address")
		second := k.Enqueue(t.Context(), "k", "address", false, false)
		other := k.Enqueue(t.Context(), "other", "address", false, false)
		for _, answer := range []<-chan subscription.Answer{first, second, other} {
			require.Equal(t, subscription.Answer{Queued: true}, <-answer)
		}
		require.Equal(t, []string{"enqueue other", "enqueue k", "dequeue k", "enqueue k"}, s.requests)
	})
}

func TestANewRunTakesANewSubscription(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		k.Use()
		defer k.Leave()
		time.Sleep(time.Minute)
		s.run.Store(wire.Run("two"))
		time.Sleep(time.Minute)
		require.Equal(t, int32(2), s.subscribed.Load())
	})
}

// A run that isn't known for a while says nothing: positions in queues are kept.
func TestAnUnknownRunKeepsTheSubscription(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		s.run.Store(wire.Run(""))
		k.Use()
		defer k.Leave()
		for _, run := range []wire.Run{"", "one", "", "one"} {
			s.run.Store(run)
			time.Sleep(time.Minute)
		}
		require.Equal(t, int32(2), s.subscribed.Load(), "the first may be at another server than run one")
		s.run.Store(wire.Run(""))
		time.Sleep(time.Minute)
		s.run.Store(wire.Run("two"))
		time.Sleep(time.Minute)
		require.Equal(t, int32(3), s.subscribed.Load())
	})
}

func TestThatItCannotNotifyIsReportedOnce(t *testing.T) {
	play(t, func(t *testing.T, s *server, k *subscription.Keeper) {
		s.err = errPermanent
		k.Use()
		defer k.Leave()
		time.Sleep(time.Hour)
		require.Equal(t, []error{errPermanent}, s.cannot)
	})
}
