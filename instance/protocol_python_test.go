//go:build unix

package instance_test

import (
	"bufio"
	"context"
	"encoding/json"
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
	p := startPython(t)
	var instances []wire.Instance
	var addrs []string
	servers := instancetest.StartN(t, 3, instancetest.Config{})
	for i, s := range servers {
		one, err := instance.Open("redis://"+s.Addr(), instance.Config{Name: fmt.Sprint("server ", i+1), FixedAddress: true})
		require.NoError(t, err)
		instances, addrs = append(instances, one), append(addrs, s.Addr())
	}
	cfg := quorum.Config{Terms: quorum.Terms{TTL: ttl}, MaxTTL: ttl, InstanceTimeout: time.Second}
	c, err := quorum.New(cfg, instances...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	list, err := json.Marshal(addrs)
	require.NoError(t, err)
	p.ask(`"do":"open","client":"python","servers":%s,"ttl":%d`, list, ttl.Milliseconds())

	// The servers are new: neither client trusts them before MaxTTL has passed.
	_, err = c.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrQuarantined)
	require.False(t, p.ask(`"do":"acquire","key":"k","ttl":5000`).Held)
	ours, err := c.Acquire(t.Context(), "k")
	require.NoError(t, err)
	answer := p.ask(`"do":"acquire","key":"k","ttl":5000`)
	require.Equal(t, "taken", answer.Why)
	require.NoError(t, ours.Extend(t.Context()))
	require.NoError(t, ours.Release(t.Context()))

	// It gets the lock with a larger token, and extends it.
	answer = p.ask(`"do":"acquire","key":"k","ttl":5000,"wait":20000`)
	require.True(t, answer.Held, answer.Why)
	require.Greater(t, answer.Token, uint64(ours.Token()))
	_, err = c.TryAcquire(t.Context(), "k")
	require.ErrorIs(t, err, quorum.ErrTaken)
	require.True(t, p.ask(`"do":"extend","key":"k","ttl":5000`).Held)
	require.True(t, p.ask(`"do":"check","key":"k"`).Held)

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
	require.Eventually(t, func() bool {
		for _, s := range servers {
			if s.MustAsk("EXISTS", instance.WaitersKey("k")) == ":1" {
				return true
			}
		}
		return !p.ask(`"do":"extend","key":"k","ttl":5000`).Held
	}, time.Minute, 20*time.Millisecond)
	require.True(t, p.ask(`"do":"release","key":"k"`).Done)
	lease := <-got
	require.NotNil(t, lease)
	require.Greater(t, uint64(lease.Token()), answer.Token)
	require.NoError(t, lease.Release(t.Context()))
	require.False(t, p.ask(`"do":"check","key":"k"`).Held)
}
