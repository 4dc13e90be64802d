package quorum

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// queueServer takes a while for each request about a queue, and less for each later one.
type queueServer struct {
	quorumtest.NotifyingServer

	mu       sync.Mutex
	asked    []string // in the order in which they are sent
	requests []string // in the order in which they are carried out
	slow     time.Duration
}

func (s *queueServer) Send(req wire.Request, _ time.Duration, to wire.Receiver) {
	what := req.Op.String() + " " + req.Keys[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow /= 2
	s.asked = append(s.asked, what)
	time.AfterFunc(s.slow, func() {
		s.mu.Lock()
		s.requests = append(s.requests, what)
		s.mu.Unlock()
		to.Receive(wire.Vote{Outcome: wire.Granted})
	})
}

func playSubscription(t *testing.T, do func(s *queueServer, on *subscription)) {
	synctest.Test(t, func(t *testing.T) {
		s := &queueServer{NotifyingServer: quorumtest.NotifyingServer{Server: quorumtest.NewServer("A", nil)}}
		c, err := New(Config{}, s)
		require.NoError(t, err)
		do(s, c.subscriptions.at[0])
		require.NoError(t, c.Close(context.Background()))
	})
}

// The waiters of a process share a position. So the request of one doesn't overtake that of another,
// though it would be faster. Requests about other keys don't wait.
func TestRequestsAboutAKeyAreInOrder(t *testing.T) {
	playSubscription(t, func(s *queueServer, on *subscription) {
		s.slow = 150 * ms
		first := on.enqueue(context.Background(), "k", "address", false, false)
		synctest.Wait() // it is under way when its waiter leaves, and the next one comes
		on.dequeue("k", "address")
		second := on.enqueue(context.Background(), "k", "address", false, false)
		other := on.enqueue(context.Background(), "other", "address", false, false)
		for _, answer := range []<-chan wire.Outcome{first, second, other} {
			require.Equal(t, wire.Granted, <-answer)
		}
		require.Equal(t, []string{"enqueue k", "enqueue other", "dequeue k", "enqueue k"}, s.asked)
		require.Equal(t, []string{"enqueue other", "enqueue k", "dequeue k", "enqueue k"}, s.requests)
	})
}

// A run that isn't known for a while says nothing: positions in queues are kept.
func TestAnUnknownRunKeepsTheSubscription(t *testing.T) {
	playSubscription(t, func(s *queueServer, on *subscription) {
		known := func() {
			_, err := on.at.identified(context.Background(), true)
			require.NoError(t, err)
		}
		known()
		on.use()
		for _, change := range []func(){on.at.forget, known, on.at.forget, known} {
			time.Sleep(time.Minute)
			change()
		}
		time.Sleep(time.Minute)
		require.NotEmpty(t, on.currentAddress())
		_, ever := s.Subscriptions()
		require.Equal(t, 1, ever)
		on.drop()
	})
}
