package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// zones are three clients of three servers, each nearest to another one, so that their votes are
// split if they try at once.
func zones(f *fixture) (clients []*quorum.Coordinator) {
	for i := range f.servers {
		c := f.other(func(cfg *quorum.Config) { cfg.Owner = fmt.Sprint("zone", i) })
		require.NoError(f.t, func() error { _, err := c.Verify(f.ctx); return err }())
		clients = append(clients, c)
	}
	for i, s := range f.servers {
		s.Delay(func(cmd wire.Request) time.Duration { return zoneLag(i, cmd) }, nil)
	}
	return clients
}

// zoneLag is how long a request takes to server i.
func zoneLag(i int, cmd wire.Request) time.Duration {
	if cmd.Op == wire.Acquire && strings.HasSuffix(cmd.Value, fmt.Sprint(":zone", i)) {
		return ms
	}
	return 2*ms + time.Duration(i+1)*3*time.Microsecond
}

// tryAll has the clients try at once.
func tryAll(clients []*quorum.Coordinator, try func(c *quorum.Coordinator) (*quorum.Lease, error)) ([]*quorum.Lease, []error) {
	leases, errs := make([]*quorum.Lease, len(clients)), make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { leases[i], errs[i] = try(c) })
	}
	all.Wait()
	return leases, errs
}

// TestSplitTriesAreResolved has three or four clients try at once. One gets the lock, by whichever call, and
// the others learn who has it.
func TestSplitTriesAreResolved(t *testing.T) {
	tryAcquire := func(f *fixture, c *quorum.Coordinator) (*quorum.Lease, error) { return c.TryAcquire(f.ctx, "k") }
	for name, try := range map[string]func(f *fixture, c *quorum.Coordinator) (*quorum.Lease, error){
		"TryAcquire":        tryAcquire,
		"of an even number": tryAcquire,
		"TryAcquireAll": func(f *fixture, c *quorum.Coordinator) (*quorum.Lease, error) {
			return c.TryAcquireAll(f.ctx, "k", "l")
		},
		"Acquire, MaxTries 1": func(f *fixture, c *quorum.Coordinator) (*quorum.Lease, error) {
			once, err := c.WithTerms(func(t *quorum.Terms) { t.MaxTries = 1 })
			require.NoError(f.t, err)
			return once.Acquire(f.ctx, "k")
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := 3
			if name == "of an even number" {
				n = 4
			}
			play(t, n, func(f *fixture) {
				began := time.Now()
				leases, errs := tryAll(zones(f), func(c *quorum.Coordinator) (*quorum.Lease, error) { return try(f, c) })
				winner := slices.IndexFunc(leases, func(l *quorum.Lease) bool { return l != nil })
				require.GreaterOrEqual(t, winner, 0, "nobody got it: %v", errors.Join(errs...))
				assert.Less(t, time.Since(began), 100*ms)
				for i, lease := range leases {
					if i != winner {
						require.Nil(t, lease, "two got it")
						require.ErrorIs(t, errs[i], quorum.ErrTaken)
						require.ErrorContains(t, errs[i], fmt.Sprintf("held by client %q", fmt.Sprint("zone", winner)))
						assert.NotContains(t, fmt.Sprintf("%+v %#v", errs[i], errs[i]), leases[winner].Value())
					}
				}
				require.NoError(t, leases[winner].Release(f.ctx))
				f.requireNothingLeft()
				for i := range f.servers {
					if i != quorum.DecisionOrder(f.Coordinator)[0] {
						assert.Less(t, f.count(i, wire.Acquire), 6, "after the split only one client asks all servers")
					}
				}
			})
		})
	}
}

// TestCandidateThatGivesUpDeletesItsKeys ends the context of the client that keeps its keys
// after a split, and a hook of it panics.
func TestCandidateThatGivesUpDeletesItsKeys(t *testing.T) {
	const startsAgain = 100
	for name, end := range map[string]func(cancel func(), rounds int){
		"cancelled": func(cancel func(), rounds int) {
			if rounds == 1 {
				cancel()
			}
		},
		"panics": func(_ func(), rounds int) {
			if rounds == 1 {
				panic("hook")
			}
		},
		"panics before a later round": func(_ func(), rounds int) {
			if rounds == startsAgain {
				panic("hook")
			}
		},
		"panics in a later round": func(_ func(), rounds int) {
			if rounds == 2 {
				panic("hook")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rounds := 0
			var cancel context.CancelFunc
			play(t, 3, func(f *fixture) {
				first := quorum.DecisionOrder(f.Coordinator)[0]
				var ctx context.Context
				ctx, cancel = context.WithCancel(f.ctx)
				defer cancel()
				for i := range f.servers {
					if i != first {
						f.servers[i].Put("k", fmt.Sprint(strangers, i), time.Hour)
					}
				}
				f.lag(ms)
				f.lag(2*ms, (first+1)%3, (first+2)%3)
				func() {
					defer func() { _ = recover() }()
					_, err := f.TryAcquire(ctx, "k")
					require.ErrorIs(t, err, quorum.ErrInterrupted)
					require.ErrorIs(t, err, context.Canceled)
				}()
				require.NotZero(t, rounds)
				time.Sleep(10 * ms)
				_, _, there := f.servers[first].Get("k")
				require.False(t, there, "its key is left")
			}, func(cfg *quorum.Config) {
				cfg.Hooks.RoundDecided = func(context.Context, quorum.RoundEnd) {
					rounds++
					end(cancel, rounds)
				}
				cfg.Hooks.RoundStarted = func(context.Context, quorum.RoundStart) {
					if rounds == 1 {
						end(nil, startsAgain)
					}
				}
			})
		})
	}
}

// TestKeysThatStayGiveErrSplit leaves the keys of two crashed clients. Nobody has the lock, and it
// can't be had. The caller isn't told that it is taken, and learns that soon.
func TestKeysThatStayGiveErrSplit(t *testing.T) {
	for contends := range 2 { // or has the second instance's vote
		play(t, 3, func(f *fixture) {
			order := quorum.DecisionOrder(f.Coordinator)
			for i, s := range []int{order[1-contends], order[2]} {
				f.servers[s].Put("k", fmt.Sprintf("%040x:crashed", i+7), time.Hour)
			}
			_, err := f.TryAcquire(f.ctx, "k")
			require.ErrorIs(t, err, quorum.ErrSplit)
			require.NotErrorIs(t, err, quorum.ErrTaken)
			assert.True(t, quorum.Retryable(err))
			assert.LessOrEqual(t, f.elapsed(), 6*f.Config().InstanceTimeout+20*ms)
			synctest.Wait()
			_, _, there := f.servers[order[contends]].Get("k")
			assert.False(t, there, "its key is left")
		})
	}
}

// TestHeldLockCostsOneRound takes a lock that is held, in one round trip and with one request to each
// server, as a free one.
func TestHeldLockCostsOneRound(t *testing.T) {
	play(t, 3, func(f *fixture) {
		f.warm()
		f.lag(ms)
		lease := f.acquire("k")
		assert.Equal(t, ms, f.elapsed())
		other := f.other(func(cfg *quorum.Config) { cfg.Owner = "other" })
		_, err := other.Verify(f.ctx)
		require.NoError(t, err)
		synctest.Wait()
		for try := range 2 {
			before, asked := f.elapsed(), len(f.log(0))
			_, err = other.TryAcquire(f.ctx, "k")
			require.ErrorIs(t, err, quorum.ErrTaken)
			require.ErrorContains(t, err, "held by another client")
			assert.Equal(t, ms, f.elapsed()-before, "try %d", try)
			synctest.Wait()
			assert.Len(t, f.log(0), asked+1)
		}
		f.giveBack(lease)
	})
}

// TestRefusalNamesTheHolder has the servers tell a client who has the lock, and not the value, which
// is enough to release it.
func TestRefusalNamesTheHolder(t *testing.T) {
	play(t, 3, func(f *fixture) {
		c := f.other(func(cfg *quorum.Config) { cfg.Owner = "worker-7" })
		noted, err := c.WithTerms(func(t *quorum.Terms) { t.Note = "import of 12:00" })
		require.NoError(t, err)
		lease, err := noted.AcquireAll(f.ctx, "k", "l")
		require.NoError(t, err)
		synctest.Wait()
		_, err = f.TryAcquireAll(f.ctx, "a", "k") // a script answers
		lost, ok := errors.AsType[*quorum.RoundError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "worker-7", lost.Holder.Owner)
		require.Equal(t, "import of 12:00", lost.Holder.Note)
		require.ErrorContains(t, err, `"k" is held by client "worker-7" ("import of 12:00")`)
		for _, vote := range lost.Votes {
			require.NotEqual(t, lease.Value(), vote.Vote.Holder)
			require.Less(t, len(strings.SplitN(vote.Vote.Holder, ":", 2)[0]), 16)
		}
	})
}

// TestOwnLeaseIsSeenWithoutARound asks for a lock that this Coordinator has.
func TestOwnLeaseIsSeenWithoutARound(t *testing.T) {
	play(t, 3, func(f *fixture) {
		lease := f.acquire("k")
		synctest.Wait()
		before := len(f.log(0))
		for _, try := range []func() (*quorum.Lease, error){
			func() (*quorum.Lease, error) { return f.TryAcquire(f.ctx, "k") },
			func() (*quorum.Lease, error) { return f.TryAcquireAll(f.ctx, "k", "l") },
		} {
			_, err := try()
			require.ErrorIs(t, err, quorum.ErrTaken)
			require.ErrorContains(t, err, "held by this process")
			assert.True(t, quorum.Retryable(err))
		}
		assert.Len(t, f.log(0), before)
		require.NoError(t, lease.Release(f.ctx))
		require.NoError(t, f.acquire("k").Release(f.ctx))
		f.requireNothingLeft()
	})
}

// TestFirstInstanceThatHangsIsNotAwaited has the votes split while the instance that decides hangs.
// The next one decides.
func TestFirstInstanceThatHangsIsNotAwaited(t *testing.T) {
	play(t, 5, func(f *fixture) {
		f.warm()
		order := quorum.DecisionOrder(f.Coordinator)
		f.hang(order[0])
		for i, s := range order[2:] {
			f.servers[s].Put("k", fmt.Sprintf("%040x:other", i+7), 15*ms) // they give up soon
		}
		lease := f.acquire("k")
		assert.Less(t, f.elapsed(), f.Config().InstanceTimeout, "it has the second instance's vote")
		require.NoError(t, lease.Release(f.ctx))
		f.resume()
		f.requireNothingLeft()
	})
}

// TestKeyOfADeadClientOnTheDecider leaves the key of a client that died on the server that decides. Clients that try at
// once, so that their votes are split, get ErrSplit until it has expired. A client that tries alone gets the lock,
// and so do all that wait for it.
func TestKeyOfADeadClientOnTheDecider(t *testing.T) {
	const lives = 3 * time.Second
	contenders := func(f *fixture) []*quorum.Coordinator {
		order, clients := quorum.DecisionOrder(f.Coordinator), zones(f)
		f.servers[order[0]].Put("k", strangers, lives)
		f.began = time.Now()
		return []*quorum.Coordinator{clients[order[1]], clients[order[2]]}
	}
	play(t, 3, func(f *fixture) {
		both := contenders(f)
		try := func(c *quorum.Coordinator) (*quorum.Lease, error) { return c.TryAcquire(f.ctx, "k") }
		_, errs := tryAll(both, try)
		require.ErrorIs(t, errs[0], quorum.ErrSplit)
		require.ErrorIs(t, errs[1], quorum.ErrSplit)
		assert.LessOrEqual(t, f.elapsed(), 6*f.Config().InstanceTimeout+20*ms)
		f.requireNothingLeft()

		alone, err := try(both[0])
		require.NoError(t, err)
		require.NoError(t, alone.Release(f.ctx))

		time.Sleep(lives - f.elapsed())
		leases, errs := tryAll(both, try)
		require.True(t, (leases[0] == nil) != (leases[1] == nil), "%v", errors.Join(errs...))
	})
	play(t, 3, func(f *fixture) {
		leases, errs := tryAll(contenders(f), func(c *quorum.Coordinator) (*quorum.Lease, error) {
			lease, err := c.Acquire(f.ctx, "k")
			if err == nil {
				err = lease.Release(f.ctx)
			}
			return lease, err
		})
		require.NoError(t, errors.Join(errs...))
		require.NotContains(t, leases, (*quorum.Lease)(nil))
		assert.Less(t, f.elapsed(), lives, "both had the lock before the key expired")
	})
}

// slowSender is a server with something that happens before a request is sent.
type slowSender struct {
	*quorumtest.Server
	before func(wire.Request)
}

func (s slowSender) Send(req wire.Request, timeout time.Duration, to wire.Receiver) {
	s.before(req)
	s.Server.Send(req, timeout, to)
}

// TestNothingIsSentAfterTheRollback cancels a caller while the round sends its requests. What it has yet to send isn't sent.
func TestNothingIsSentAfterTheRollback(t *testing.T) {
	play(t, 3, func(f *fixture) {
		others := slices.Sorted(slices.Values(quorum.DecisionOrder(f.Coordinator)[1:]))
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		n, instances := 0, f.instances()
		instances[others[0]] = slowSender{f.servers[others[0]], func(req wire.Request) {
			if req.Op != wire.Acquire || req.Keys[0] != "k" {
				return
			}
			if n++; n == 2 { // of the round that asks the others after the first
				cancel()
				time.Sleep(ms)
			}
		}}
		c := f.newCoordinatorOn(f.cfg, instances)
		_, err := c.Verify(f.ctx)
		require.NoError(t, err)
		for i, s := range others {
			f.servers[s].Put("k", fmt.Sprint(strangers, i), ms)
		}
		_, err = c.TryAcquire(ctx, "k")
		require.ErrorIs(t, err, quorum.ErrInterrupted)
		require.Equal(t, 2, n)
		f.requireNothingLeft()
	})
}
