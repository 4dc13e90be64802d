package presence_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/internal/presence"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/wire"
)

// Whatever is lost, late, evicted or taken by others: while the State says that a value of several
// keys is absent, no key has it, and no SET that can set one is under way.
func TestAbsentIsAbsent(t *testing.T) {
	absent := 0
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 3))
		d, now := memory.NewData(), time.Unix(1e9, 0)
		names := []string{"a", "b", "c"}[:2+random.IntN(2)]
		var state presence.State
		var late []wire.Request
		released := false
		request := func(op wire.Op) wire.Request {
			req := wire.Request{Op: op, Keys: names, Value: "mine", TTL: time.Hour}
			if op == wire.Raise || op == wire.Acquire || op == wire.Restore {
				req.Fence = wire.Fence{On: true, TTL: time.Hour, Ahead: time.Hour, Token: 7, Floor: 1}
			}
			if op == wire.Acquire {
				req.Delete = [][]string{nil, {"other"}}[random.IntN(2)]
			}
			return req
		}
		arrive := func() {
			if len(late) > 0 {
				i := random.IntN(len(late))
				d.Run(late[i], now)
				late = append(late[:i], late[i+1:]...)
			}
		}
		send := func(op wire.Op) {
			req := request(op)
			vote := wire.Vote{Outcome: wire.Failed}
			switch random.IntN(6) {
			case 0: // late
				late = append(late, req)
			case 1: // the reply is lost
				d.Run(req, now)
			case 2: // lost for good
			default:
				vote = d.Run(req, now)
				require.NotErrorIs(t, vote.Err, memory.ErrBadRequest)
			}
			state = state.AfterSeveral(op, vote)
		}
		send(wire.Acquire)
		for range 14 {
			switch random.IntN(9) {
			case 0:
				d.Keys.Delete(names[random.IntN(len(names))], now)
			case 1:
				if k := names[random.IntN(len(names))]; true {
					if _, _, there := d.Keys.Get(k, now); !there {
						d.Keys.Put(k, "other", now.Add(time.Hour))
					}
				}
			case 2:
				for _, k := range names {
					if v, _, _ := d.Keys.Get(k, now); v == "other" {
						d.Keys.Delete(k, now)
					}
				}
			case 3:
				arrive()
			case 4:
				released = true
				fallthrough
			default:
				if released {
					send(wire.Release)
				} else {
					send([]wire.Op{wire.Raise, wire.Extend, wire.Restore}[random.IntN(3)])
				}
			}
			if !state.Absent() {
				continue
			}
			absent++
			for _, k := range names {
				v, _, _ := d.Keys.Get(k, now)
				require.NotEqual(t, "mine", v, "seed %d: %q", seed, k)
			}
			for _, req := range late {
				require.False(t, req.Op == wire.Acquire || req.Op == wire.Restore, "seed %d: %v may still arrive", seed, req.Op)
			}
		}
	}
	require.Greater(t, absent, 1000)
}
