package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// sharedDice is dice for several Coordinators.
type sharedDice struct {
	mu   sync.Mutex
	dice dice
}

func (d *sharedDice) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dice.Read(p)
}

// patient is a Config whose waiters sleep for most of an hour without a notification.
func patient(cfg *quorum.Config) {
	cfg.Lab.BackoffMin, cfg.Lab.BackoffMax = time.Hour, time.Hour
	cfg.Lab.Random = &sharedDice{dice: dice{number: uint64(50 * time.Minute)}}
	cfg.TTL = 2 * time.Hour
	cfg.InstanceTimeout = 100 * ms
}

// queueServer is the server that has the key's wait queue.
func (f *fixture) queueServer(key string) *quorumtest.Server {
	return f.servers[quorum.QueueOf(f.Coordinator, key)]
}

// notQueue are the servers without the queue for a key.
func (f *fixture) notQueue(key string) []int {
	return slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return i == quorum.QueueOf(f.Coordinator, key) })
}

// sent counts the requests about the key to all servers.
func (f *fixture) sent(key string, ops ...wire.Op) int {
	n := 0
	for i := range f.servers {
		for _, e := range f.log(i) {
			if slices.Index(e.Request.Keys, key) == 0 && (len(ops) == 0 || slices.Contains(ops, e.Request.Op)) {
				n++
			}
		}
	}
	return n
}

// travel makes each request, and each answer, take the time d. So requests sent together arrive
// together. Without it a notified waiter may reach the other servers before the release does. Or it
// may have asked first on the queue server for a lock that another client won, and then no holder
// knows to notify it.
func (f *fixture) travel(d time.Duration) {
	way := func(wire.Request) time.Duration { return d }
	f.each(func(s *quorumtest.Server) { s.Delay(way, way) })
}

// slowNotifier is a notifying server whose notifications take a while.
type slowNotifier struct {
	quorumtest.NotifyingServer
	d time.Duration
}

func (s slowNotifier) Subscribe(ctx context.Context) (wire.Subscription, error) {
	sub, err := s.NotifyingServer.Subscribe(ctx)
	return slowSubscription{sub, s.d}, err
}

type slowSubscription struct {
	wire.Subscription
	d time.Duration
}

func (s slowSubscription) Next() (string, error) {
	key, err := s.Subscription.Next()
	time.Sleep(s.d)
	return key, err
}

// A goroutine may wait in the queue of a server while another goroutine of its process has the lock.
// The release then notifies the process itself, which doesn't step back for another one: whether the
// notification comes before the answer to the release, between that and the release's end, or after.
func TestReleaseNotifiesItsOwnProcess(t *testing.T) {
	for name, late := range map[string]time.Duration{"before": 0, "between": 3 * ms, "after": 20 * ms} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 3, func(f *fixture) {
				instances := f.instances()
				for i, s := range f.servers {
					instances[i] = slowNotifier{quorumtest.NotifyingServer{Server: s}, late}
				}
				c := f.newCoordinatorOn(f.cfg, instances)
				_, err := c.Verify(f.ctx)
				require.NoError(t, err)
				f.travel(ms)
				lease := f.acquireBy(c, "b")
				var group sync.WaitGroup
				group.Go(func() {
					// Its round finds b taken, so it moves to the queues of b.
					next, err := c.AcquireAll(f.ctx, "a", "b")
					if assert.NoError(t, err) {
						assert.NoError(t, next.Release(f.ctx))
					}
				})
				time.Sleep(time.Second)
				queue := f.queueServer("b")
				require.Len(t, queue.Waiting("b"), 1)
				for _, s := range f.servers {
					if s != queue { // these decide when the release ends
						s.Delay(func(wire.Request) time.Duration { return 5 * ms }, func(wire.Request) time.Duration { return ms })
					}
				}
				at := time.Now()
				require.NoError(t, lease.Release(f.ctx))
				group.Wait()
				assert.Less(t, time.Since(at), 50*ms)
				f.requireNothingLeft()
			}, patient)
		})
	}
}

// A process steps back for one that a release notified. If that one never comes, the step back costs
// an InstanceTimeout, and not a pause.
func TestNotifiedProcessNeverComes(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		lease := f.acquire("k")
		ctx, cancel := context.WithCancel(f.ctx)
		var group sync.WaitGroup
		group.Go(func() {
			_, err := f.other().Acquire(ctx, "k")
			assert.ErrorIs(t, err, context.Canceled)
		})
		group.Go(func() {
			next, err := f.Acquire(f.ctx, "k")
			if assert.NoError(t, err) {
				assert.NoError(t, next.Release(f.ctx))
			}
			cancel()
		})
		time.Sleep(time.Second)
		f.queueServer("k").LoseNotifications(true)
		at := time.Now()
		require.NoError(t, lease.Release(f.ctx))
		group.Wait()
		assert.Less(t, time.Since(at), 150*ms)
		f.requireNothingLeft()
	}, patient)
}

// A waiter that was notified may win on a quorum without the server that has the queue. Its release
// notifies the next waiter there nevertheless.
func TestReleaseNotifiesWithoutTheKeyAtTheQueue(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		lease := f.acquireBy(f.other(), "b")
		var group sync.WaitGroup
		for i, keys := range [][]string{{"a", "b"}, {"b"}} {
			c := f.other()
			group.Go(func() {
				next, err := c.AcquireAll(f.ctx, keys...)
				if assert.NoError(t, err) {
					time.Sleep(time.Second)
					assert.Equal(t, i == 1, slices.Contains(next.Instances(), f.queueServer("b").Name()))
					assert.NoError(t, next.Release(f.ctx))
				}
			})
			time.Sleep(100 * ms) // they are in the queue, in this order
		}
		require.Len(t, f.queueServer("b").Waiting("b"), 2)
		f.queueServer("b").Put("a", strangers, time.Hour)
		at := time.Now()
		require.NoError(t, lease.Release(f.ctx))
		group.Wait()
		assert.Less(t, time.Since(at), 2*time.Second+100*ms)
		f.requireNothingLeft()
	}, patient)
}

// Processes are notified one at a time, in the order in which they came.
func TestProcessesAreNotifiedInOrder(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.travel(ms)
		const clients = 8
		lease := f.acquireBy(f.other(), "k")
		before := 0
		var order []int
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range clients {
			c := f.other()
			group.Go(func() {
				lease, err := c.Acquire(f.ctx, "k")
				if !assert.NoError(f.t, err) {
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				assert.NoError(f.t, lease.Release(f.ctx))
			})
			time.Sleep(10 * ms) // it waits in the queue
		}
		before = f.sent("k")
		at := time.Now()
		require.NoError(f.t, lease.Release(f.ctx))
		group.Wait()
		assert.Equal(f.t, []int{0, 1, 2, 3, 4, 5, 6, 7}, order)
		// The release arrives, and the notified waiter needs one round trip.
		assert.Equal(f.t, clients*(time.Second+3*ms)+2*ms, time.Since(at), "no time is lost")
		synctest.Wait()
		assert.Equal(f.t, 5+clients*10, f.sent("k")-before, "waiters ask only when notified")
		f.requireNothingLeft()
	}, patient)
}

// A waiter that is notified before all servers have the delete loses a round. No other
// notification comes, so it tries again soon, however long it has waited.
func TestNotifiedTooEarly(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.travel(ms)
		lease := f.acquireBy(f.other(), "k")
		late := func(cmd wire.Request) time.Duration {
			if cmd.Op == wire.Release {
				return 20 * ms
			}
			return ms
		}
		for _, i := range f.notQueue("k") {
			f.servers[i].Delay(late, func(wire.Request) time.Duration { return ms })
		}
		released := time.Now().Add(5 * time.Second)
		time.AfterFunc(5*time.Second, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
		next := f.await("k")
		assert.Less(f.t, time.Since(released), 70*ms)
		f.giveBack(next)
	}, func(cfg *quorum.Config) {
		cfg.Lab.Random = &sharedDice{dice: dice{number: uint64(499 * ms)}} // the longest pauses
	})
}

// A holder without the key on the queue server, because another client's key was there first,
// notifies nobody. That costs no more than a pause.
func TestHolderWithoutTheKeyAtTheQueue(t *testing.T) {
	playNotifying(t, 5, func(f *fixture) {
		f.warm()
		f.travel(ms)
		f.occupy("k", 50*ms, quorum.QueueOf(f.Coordinator, "k"))
		lease := f.acquireBy(f.other(), "k")
		time.Sleep(100 * ms)
		_, _, there := f.queueServer("k").Get("k")
		require.False(f.t, there)
		released := time.Now().Add(4321 * ms)
		time.AfterFunc(4321*ms, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
		next := f.await("k")
		// A round that came too early, the pause, and a round.
		assert.LessOrEqual(f.t, time.Since(released), 500*ms+10*ms)
		f.giveBack(next)
	})
}

// If the subscription's connection is lost, the waiter takes its position again on a new one; if
// the whole server is lost, on the next server.
func TestSubscriptionIsLost(t *testing.T) {
	for name, lose := range map[string]func(f *fixture){
		"the connection": func(f *fixture) { f.queueServer("k").BreakSubscriptions() },
		"both":           func(f *fixture) { f.queueServer("k").Reconnect() },
		// The address may lead to another server, which the subscription doesn't reach.
		"the server's run": func(f *fixture) { f.queueServer("k").Promote() },
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.travel(ms)
				lease := f.acquireBy(f.other(), "k")
				time.AfterFunc(time.Minute, func() { lose(f) })
				released := time.Now().Add(2 * time.Minute)
				time.AfterFunc(2*time.Minute, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
				next := f.await("k")
				assert.Equal(f.t, 3*ms, time.Since(released), "the release gets there, and one round trip")
				_, ever := f.queueServer("k").Subscriptions()
				assert.Equal(f.t, 2, ever)
				f.giveBack(next)
			}, patient)
		})
	}
}

// If the queue server is gone, that costs one pause. Then the queue is on the next server.
func TestInstanceWithTheQueueIsLost(t *testing.T) {
	for name, lose := range map[string]func(*quorumtest.Server){
		"killed": (*quorumtest.Server).Kill, "hung": (*quorumtest.Server).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 5, func(f *fixture) {
				f.warm()
				f.travel(ms)
				lost := f.queueServer("k")
				holder := f.other()
				for i := range 10 {
					lease := f.awaitBy(holder, "k")
					if i == 3 {
						lose(lost)
					}
					released := time.Now().Add(2 * time.Second)
					time.AfterFunc(2*time.Second, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
					next := f.await("k")
					if i < 3 || i > 4 {
						assert.Less(f.t, time.Since(released), 10*ms, "turn %d", i)
					} else {
						assert.Less(f.t, time.Since(released), 800*ms, "turn %d", i)
					}
					require.NoError(f.t, next.Release(f.ctx))
					time.Sleep(30 * ms) // the other client need not be let in first
				}
				lost.Resume()
				lost.Start(true)
				f.each(func(s *quorumtest.Server) { s.SetFate(nil) })
				f.requireNothingLeftWithin(2 * time.Second)
			})
		})
	}
}

// A subscription's connection exists while there are waiters, and for some seconds.
func TestSubscriptionIsClosedWhenNobodyWaits(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		at := f.queueServer("k")
		open, ever := at.Subscriptions()
		require.Zero(f.t, open+ever, "no waiter yet")
		for range 3 {
			lease := f.acquireBy(f.other(), "k")
			time.AfterFunc(time.Second, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
			next := f.await("k")
			require.NoError(f.t, next.Release(f.ctx))
		}
		time.Sleep(5 * time.Second)
		open, ever = at.Subscriptions()
		assert.Equal(f.t, 1, open)
		assert.Equal(f.t, 1, ever)
		time.Sleep(20 * time.Second)
		open, _ = at.Subscriptions()
		assert.Zero(f.t, open)
		for _, s := range f.servers {
			open, _ := s.Subscriptions()
			assert.Zero(f.t, open)
		}
		f.requireNothingLeft()
	})
}

// A waiter without the right to subscribe polls, and the hook reports that once.
func TestWaitersPollWithoutNotifications(t *testing.T) {
	var mu sync.Mutex
	told := map[string]int{}
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.each(func(s *quorumtest.Server) { s.RefuseSubscriptions(permanentError{true}) })
		for range 3 {
			lease := f.acquireBy(f.other(), "k")
			released := time.Now().Add(20 * time.Second)
			time.AfterFunc(20*time.Second, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
			next := f.await("k")
			assert.LessOrEqual(f.t, time.Since(released), 501*ms)
			require.NoError(f.t, next.Release(f.ctx))
		}
		assert.Equal(f.t, map[string]int{f.queueServer("k").Name(): 1}, told)
		f.requireNothingLeft()
	}, func(cfg *quorum.Config) {
		cfg.TTL = time.Minute
		cfg.Hooks.CannotNotify = func(e quorum.CannotNotifyEvent) {
			mu.Lock()
			defer mu.Unlock()
			told[e.Instance]++
			assert.True(t, errors.As(e.Err, new(permanentError)))
		}
	})
}

// With Notifications off there is no subscription, and no request but those that polling needs.
func TestNotificationsOff(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		lease := f.acquireBy(f.other(), "k")
		time.AfterFunc(time.Second, func() { assert.NoError(f.t, lease.Release(f.ctx)) })
		next := f.await("k")
		f.giveBack(next)
		assert.Zero(f.t, f.sent("k", wire.Enqueue, wire.Dequeue))
		for i, s := range f.servers {
			_, ever := s.Subscriptions()
			assert.Zero(f.t, ever)
			for _, e := range f.log(i) {
				assert.False(f.t, e.Request.Notify)
			}
		}
	}, func(cfg *quorum.Config) { cfg.Lab.Notifications = quorum.Off })
}

// A waiter that gives up just as the lock is released doesn't lose the notification.
func TestNotificationOfAWaiterThatLeftIsPassedOn(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.travel(ms)
		lease := f.acquireBy(f.other(), "k")
		leaving, staying := f.other(), f.other()
		ctx, cancel := context.WithCancel(f.ctx)
		var group sync.WaitGroup
		group.Go(func() {
			_, err := leaving.Acquire(ctx, "k")
			assert.ErrorIs(f.t, err, context.Canceled)
		})
		time.Sleep(10 * ms) // it waits in the queue
		var got time.Time
		group.Go(func() {
			lease, err := staying.Acquire(f.ctx, "k")
			got = time.Now()
			if assert.NoError(f.t, err) {
				assert.NoError(f.t, lease.Release(f.ctx))
			}
		})
		time.Sleep(10 * ms) // it waits in the queue
		// The withdrawal arrives after the release.
		f.queueServer("k").Delay(func(cmd wire.Request) time.Duration {
			if cmd.Op == wire.Dequeue {
				return 50 * ms
			}
			return ms
		}, func(wire.Request) time.Duration { return ms })
		cancel()
		synctest.Wait()
		at := time.Now()
		require.NoError(f.t, lease.Release(f.ctx))
		group.Wait()
		assert.Equal(f.t, 52*ms, got.Sub(at), "the withdrawal gets there, and one round trip")
		f.requireNothingLeft()
	}, patient)
}

// Close doesn't wait for a hung server to which it would have to subscribe.
func TestCloseWhileSubscribing(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		f.occupy("k", time.Hour)
		f.queueServer("k").Hang()
		go func() { _, _ = f.Acquire(f.ctx, "k") }()
		time.Sleep(150 * ms) // it has timed out by now
		f.queueServer("k").Resume()
		f.each((*quorumtest.Server).Hang)
		at := time.Now()
		require.NoError(f.t, f.Close(f.ctx))
		assert.LessOrEqual(f.t, time.Since(at), 500*ms)
	}, func(cfg *quorum.Config) { cfg.TTL, cfg.InstanceTimeout = time.Minute, 100*ms })
}

// If servers cannot agree on a token, or a majority is down, waiting processes try again after
// their pauses: those whose rounds are lost do not notify each other.
func TestWaitersDoNotNotifyEachOtherWhereAMajorityIsDown(t *testing.T) {
	kill := func(alive int) func(*fixture) {
		return func(f *fixture) {
			for i, s := range f.servers {
				if i != alive {
					s.Kill()
				}
			}
		}
	}
	for name, c := range map[string]struct {
		trouble func(*fixture)
		why     error
	}{
		"first alive":  {kill(0), quorum.ErrNoQuorum},
		"second alive": {kill(1), quorum.ErrNoQuorum},
		"third alive":  {kill(2), quorum.ErrNoQuorum},
		"clocks apart": {func(f *fixture) {
			f.servers[1].StepClock(24 * time.Hour)
			f.servers[2].StepClock(48 * time.Hour)
		}, quorum.ErrUnsettled},
	} {
		t.Run(name, func(t *testing.T) {
			playNotifying(t, 3, func(f *fixture) {
				f.slow(ms, ms)
				time.Sleep(time.Hour)
				if c.why == quorum.ErrUnsettled {
					c.trouble(f)
				}
				var rounds atomic.Int32
				coordinators := make([]*quorum.Coordinator, 2)
				for i := range coordinators {
					coordinators[i] = f.other(func(c *quorum.Config) {
						c.Hooks.RoundDecided = func(context.Context, quorum.RoundEnd) { rounds.Add(1) }
					})
					_, err := coordinators[i].Verify(f.ctx)
					require.NoError(t, err)
				}
				if c.why == quorum.ErrNoQuorum {
					c.trouble(f)
				}
				ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
				defer cancel()
				var all sync.WaitGroup
				for _, coordinator := range coordinators {
					all.Go(func() {
						_, err := coordinator.Acquire(ctx, "k")
						assert.ErrorIs(t, err, quorum.ErrInterrupted)
					})
				}
				all.Wait()
				assert.Less(t, rounds.Load(), int32(2000), "in a minute")
				assert.Greater(t, rounds.Load(), int32(100))
			})
		})
	}
}

// Waiters of one process see what the first of them saw, each with its own keys, and none changes
// another's error.
func TestErrorsOfWaitersAreTheirOwn(t *testing.T) {
	var first *quorum.RoundError
	play(t, 3, func(f *fixture) {
		f.occupy("a", time.Minute)
		ctx, cancel := context.WithCancel(f.ctx)
		go func() { _, _ = f.Acquire(ctx, "a") }()
		time.Sleep(100 * ms)
		synctest.Wait()
		require.NotNil(t, first)
		text := first.Error()

		once, err := f.WithTerms(func(terms *quorum.Terms) { terms.MaxTries = 1 })
		require.NoError(t, err)
		_, err = once.AcquireAll(f.ctx, "a", "b")
		var lost *quorum.RoundError
		require.ErrorAs(t, err, &lost)
		assert.Equal(t, "a", lost.Holder.Key)
		assert.Empty(t, first.Holder.Key)
		assert.Equal(t, text, first.Error())
		cancel()
		require.NoError(t, f.Settle(f.ctx))
	}, func(cfg *quorum.Config) {
		cfg.Hooks.RoundDecided = func(_ context.Context, e quorum.RoundEnd) { _ = errors.As(e.Err, &first) }
	})
}

// The cause for which one waiter gave up is not in the error of another one.
func TestErrorHasNoOtherCallersCause(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.hang(0, 1, 2)
		mine := errors.New("the first waiter's reason")
		first, giveUp := context.WithCancelCause(f.ctx)
		second, cancel := context.WithCancel(f.ctx)
		go func() { _, _ = f.Acquire(first, "k") }()
		time.Sleep(10 * ms)
		go func() { _, _ = f.Acquire(second, "k") }()
		time.Sleep(10 * ms)
		giveUp(mine) // during its round
		time.Sleep(10 * ms)
		third, stop := context.WithTimeout(f.ctx, 20*ms)
		defer stop()
		_, err := f.Acquire(third, "k") // behind the second, whose first round is under way
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, mine)
		assert.NotErrorIs(t, err, context.Canceled)
		cancel()
		f.resume()
	})
}

// A counter that can't be used is one key's: the other keys' waiters queue where they did.
func TestBadCounterMovesNoQueue(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.acquire("warm")
		f.servers[0].PutCounter("bad", 1<<52)
		key := ""
		for i := 0; key == ""; i++ {
			if k := fmt.Sprint("k", i); quorum.QueueOf(f.Coordinator, k) == 0 {
				key = k
			}
		}
		_ = f.acquire("bad")
		synctest.Wait()
		assert.Zero(t, quorum.QueueOf(f.Coordinator, key))
	})
}

// A waiter that is cancelled before its round begins, because too many others are under way, lets another process know
// that the lock is free.
func TestWaiterCancelledBeforeItsRound(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		other := f.other()
		f.warm()
		first := f.acquireBy(other, "k")
		got := make(chan *quorum.Lease, 1)
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		go func() { l, _ := f.Acquire(f.ctx, "k"); got <- l }()
		time.Sleep(100 * ms)
		go func() { _, _ = f.noted("so that it needs a round").Acquire(ctx, "k") }()
		time.Sleep(100 * ms)
		require.NoError(t, first.Release(f.ctx))
		mine, theirs := <-got, make(chan time.Time, 1)
		go func() {
			if l, err := other.Acquire(f.ctx, "k"); err == nil {
				theirs <- time.Now()
				_ = l.Release(f.ctx)
			}
		}()
		time.Sleep(100 * ms)
		f.each(func(s *quorumtest.Server) {
			s.Delay(func(req wire.Request) time.Duration {
				if req.Op == wire.Acquire && strings.HasPrefix(req.Keys[0], "z") {
					return 1500 * ms
				}
				return 0
			}, nil)
		})
		for i := range 128 {
			go func() {
				if l, err := f.TryAcquire(f.ctx, fmt.Sprint("z", i)); err == nil {
					_ = l.Release(f.ctx)
				}
			}()
		}
		time.Sleep(10 * ms)
		released := time.Now()
		require.NoError(t, mine.Release(f.ctx)) // it goes on to the waiter here, so it notifies nobody
		time.Sleep(ms)
		cancel()
		require.Less(t, (<-theirs).Sub(released), time.Second)
	}, func(cfg *quorum.Config) {
		cfg.InstanceTimeout, cfg.TTL, cfg.Lab.BackoffMax = 2*time.Second, 20*time.Second, time.Minute
	})
}

// Waiters that leave faster than the server answers at which processes queue don't keep the next one waiting there.
func TestWaitersThatLeaveDoNotPileUp(t *testing.T) {
	playNotifying(t, 3, func(f *fixture) {
		f.warm()
		key := "k"
		for quorum.QueueOf(f.Coordinator, key) != 2 {
			key += "k"
		}
		held := f.awaitBy(f.other(), key)
		time.Sleep(100 * ms)
		const far = 40 * ms
		f.lag(ms, 0, 1)
		f.lag(far, 2)
		for range 200 {
			ctx, cancel := context.WithTimeout(f.ctx, 5*ms)
			_, err := f.Acquire(ctx, key)
			cancel()
			require.ErrorIs(t, err, quorum.ErrInterrupted)
		}
		at := f.elapsed()
		time.AfterFunc(ms, func() { _ = held.Release(f.ctx) })
		lease := f.await(key)
		assert.Less(t, f.elapsed()-at, 5*far)
		f.giveBack(lease)
	})
}
