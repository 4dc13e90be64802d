//go:build unix

package instance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
)

// python is the client that was written in Python by docs/reference/protocol.md, as a driver of the
// box runs it.
type python struct {
	t       *testing.T
	in      io.Writer
	answers *bufio.Scanner
}

type pythonAnswer struct {
	Held, Done bool
	Token      uint64
	Why, Error string
}

func startPython(t *testing.T) *python {
	t.Helper()
	cmd := exec.Command(instancetest.Python(t), "../simulation/drivers/python/protocol.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &python{t: t, in: in, answers: bufio.NewScanner(out)}
}

// ask sends a request, given as JSON without braces, and returns the answer.
func (p *python) ask(request string, args ...any) (answer pythonAnswer) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, "{\"id\":1,"+request+"}\n", args...)
	require.NoError(p.t, err)
	require.True(p.t, p.answers.Scan(), "it ended: %v", p.answers.Err())
	require.NoError(p.t, json.Unmarshal(p.answers.Bytes(), &answer), "%s", p.answers.Text())
	require.Empty(p.t, answer.Error)
	return answer
}

// TestClientsOfTwoLanguages: the Go client and the one in Python share locks, tokens and the wait
// queue.
func TestClientsOfTwoLanguages(t *testing.T) {
	t.Parallel()
	const ttl = 5 * time.Second
	p, began := startPython(t), time.Now()
	var instances []wire.Instance
	var addrs []string
	servers := instancetest.StartN(t, 3, instancetest.Config{})
	for i, s := range servers {
		one, err := instance.Open("redis://"+s.Addr(), instance.Config{Name: fmt.Sprint("server ", i+1), FixedAddress: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, one.Close()) })
		instances, addrs = append(instances, one), append(addrs, s.Addr())
	}
	cfg := quorum.Config{TTL: ttl, MaxTTL: ttl, InstanceTimeout: time.Second}
	c, err := quorum.New(cfg, instances...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	list, err := json.Marshal(addrs)
	require.NoError(t, err)
	p.ask(`"do":"open","client":"python","servers":%s,"ttl":%d`, list, ttl.Milliseconds())

	// The servers are new: neither client trusts them before MaxTTL has passed.
	again := func(step func() bool) { // where a busy machine may take too long for a lease, or for an answer
		t.Helper()
		require.Eventually(t, step, 2*time.Minute, time.Millisecond)
	}
	again(func() bool {
		early, err := c.TryAcquire(t.Context(), "early")
		if err == nil {
			require.GreaterOrEqual(t, time.Since(began), ttl)
			_ = early.Release(t.Context())
		}
		return err == nil || errors.Is(err, quorum.ErrQuarantined)
	})
	if p.ask(`"do":"acquire","key":"early","ttl":5000`).Held {
		require.GreaterOrEqual(t, time.Since(began), ttl)
	}
	var ours *quorum.Lease
	again(func() bool {
		ours, err = c.Acquire(t.Context(), "k")
		require.NoError(t, err)
		answer := p.ask(`"do":"acquire","key":"k","ttl":5000`)
		if answer.Held {
			p.ask(`"do":"release","key":"k"`)
		}
		return answer.Why == "taken" && ours.Extend(t.Context()) == nil && ours.Release(t.Context()) == nil
	})

	// It gets the lock with a larger token, on all servers: one that Release had not reached yet would have
	// refused it, and has no queue when it is free. It extends the lease.
	var answer pythonAnswer
	onAll := func() bool {
		values := map[string]bool{}
		for _, s := range servers {
			values[s.MustAsk("GET", "k")] = true
		}
		return len(values) == 1
	}
	again(func() bool {
		answer = p.ask(`"do":"acquire","key":"k","ttl":5000,"wait":60000`)
		require.True(t, answer.Held, answer.Why)
		require.Greater(t, answer.Token, uint64(ours.Token()))
		var theirs *quorum.Lease
		if onAll() {
			if theirs, err = c.TryAcquire(t.Context(), "k"); errors.Is(err, quorum.ErrTaken) && p.ask(`"do":"extend","key":"k","ttl":5000`).Held && p.ask(`"do":"check","key":"k"`).Held {
				return true
			}
		}
		p.ask(`"do":"release","key":"k"`)
		_ = theirs.Release(t.Context())
		return false
	})

	// Its release notifies a waiter of the Go client, which polls after seconds only.
	got := make(chan *quorum.Lease, 1)
	go func() {
		lease, err := c.Acquire(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	// It waits in the queue of one server. Meanwhile the lease is kept, however long that takes.
	kept := true
	again(func() bool {
		for _, s := range servers {
			if s.MustAsk("EXISTS", instance.WaitersKey("k")) == ":1" {
				return true
			}
		}
		kept = p.ask(`"do":"extend","key":"k","ttl":5000`).Held
		return !kept
	})
	if done := p.ask(`"do":"release","key":"k"`).Done; kept {
		require.True(t, done)
	}
	lease := <-got
	require.NotNil(t, lease)
	require.Greater(t, uint64(lease.Token()), answer.Token)
	_ = lease.Release(t.Context())
	require.False(t, p.ask(`"do":"check","key":"k"`).Held)
}
