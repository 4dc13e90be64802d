package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
)

// flawed is an instance whose votes lack one of the rules of package settlement.
type flawed struct {
	instance
	acquire func(i instance, cmd wire.Request, timeout time.Duration, to wire.Receiver)
}

func (f flawed) Send(cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	if cmd.Op == wire.Acquire {
		f.acquire(f.instance, cmd, timeout, to)
	} else {
		f.instance.Send(cmd, timeout, to)
	}
}

// markAlone compares the mark, but not the replication ID.
func markAlone(i instance, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	run := cmd.Run
	cmd.Run = ""
	i.Send(cmd, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if i.p.server(i.place).mark.Of(wire.Identity{ReplID: run.ReplID()}) != run {
			vote = wire.Vote{Err: &wire.RunError{Asked: run}}
		}
		to.Receive(vote)
	}))
}

// markBefore compares the run by a request of its own, before the acquisition.
func markBefore(i instance, cmd wire.Request, timeout time.Duration, to wire.Receiver) {
	i.Send(wire.Request{Op: wire.Tick, Run: cmd.Run}, timeout, wire.ReceiverFunc(func(vote wire.Vote) {
		if vote.Outcome != wire.Granted {
			to.Receive(vote)
			return
		}
		cmd.Run = ""
		i.Send(cmd, timeout, to)
	}))
}

// demote demotes a server and promotes it again, without a restart: its process and its connections live on,
// its replication ID is another one, and it has lost the last changes of all that is replicated, the mark included.
func (s *server) demote(since time.Duration) {
	s.replID, s.promoted = s.drawID(2), true
	s.recall(func(e entry) bool { return e.at <= int64(since) })
	s.showLost()
}

// Each rule of a vote is there because of a schedule. The library keeps its promises in that schedule. Without the
// rule, two clients have the lock. Package settlement has the rules of what a vote counts.
func TestRulesOfAVote(t *testing.T) {
	const ms = time.Millisecond
	// c1 has the lock on A, B and C. Then C loses it, and c2 asks.
	oneVote := Schedule{
		{Kind: fault.Cut, Process: "c1", Server: "D", At: 900 * ms}, {Kind: fault.Cut, Process: "c1", Server: "E", At: 900 * ms},
	}
	overlapping := func(lose func(c *Client)) Workload {
		return func(c *Client) {
			_, _ = c.Coordinator.Verify(c.Context())
			if c.Name == "c1" {
				c.SleepUntil(time.Second)
				if lease, err := c.TryAcquire("k"); err == nil {
					_, _, _ = c.Read(lease)
					c.SleepUntil(5 * time.Second)
					_ = c.Write(lease, 1, 0)
					_ = c.Release(lease)
				}
				return
			}
			c.SleepUntil(2 * time.Second)
			lose(c)
			lease, err := c.TryAcquire("k")
			if err == nil {
				_ = c.Release(lease)
			}
		}
	}
	for name, test := range map[string]struct {
		acquire  func(instance, wire.Request, time.Duration, wire.Receiver)
		schedule Schedule
		work     Workload
	}{
		// The mark is replicated, so a master that was demoted and promoted has it.
		"the mark alone tells the run": {markAlone, oneVote, overlapping(func(c *Client) { c.p.w.servers[2].demote(500 * ms) })},
		// A flush comes between the two requests.
		"the mark is read before the key is set": {
			markBefore,
			append(Schedule{{Kind: fault.Flush, Server: "C", At: 2*time.Second + 2500*time.Microsecond}}, oneVote...),
			overlapping(func(*Client) {}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				cfg := Config{Replicas: 1, LatencyMin: ms, LatencyMax: ms}
				cfg.Quorum.Lab.Notifications = quorum.Off
				r, err := Run(seed, cfg, test.schedule, test.work)
				require.NoError(t, err)
				require.Empty(t, r.Kinds(), "%s", r.Log)
				cfg.Locker = func(p Process) (Locker, error) {
					for i, inst := range p.Instances {
						p.Instances[i] = flawed{inst.(instance), test.acquire}
					}
					return Library(p)
				}
				r, err = Run(seed, cfg, test.schedule, test.work)
				require.NoError(t, err)
				require.Contains(t, r.Kinds(), record.TwoHolders, "%s", r.Log)
			}
		})
	}
}
