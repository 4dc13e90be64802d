package simulation

import (
	"time"

	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/record"
)

// changeOf is the Change of a request that is about to be carried out, nil if it is about no lock.
func (s *server) changeOf(c *call) *record.Change {
	cmd := &c.cmd
	if cmd.Op > wire.Release {
		return nil
	}
	change := &record.Change{
		Value: cmd.Value, Delete: cmd.Delete, Named: cmd.Run,
		To: cmd.Fence.Token, Ahead: s.w.cfg.Quorum.MaxTTL / 2,
		Run: [2]string{s.id, s.replID}, Mark: s.mark.Of(*s.identity()), Marked: time.Duration(s.marked), Clock: s.clock().UnixMicro(),
		Locks: make([]record.LockChange, len(cmd.Keys)),
	}
	for i, key := range cmd.Keys {
		change.Locks[i] = record.LockChange{Key: key, Before: s.lock(key)}
	}
	return change
}

// changed completes the Change of a request.
func (s *server) changed(change *record.Change) *record.Change {
	if change == nil {
		return nil
	}
	for i := range change.Locks {
		change.Locks[i].After = s.lock(change.Locks[i].Key)
	}
	return change
}

func (s *server) lock(key string) (state record.LockState) {
	now := s.clock()
	state.Value, _, _ = s.data.Keys.Get(key, now)
	state.Counter, _, _ = s.data.Counters.Get(key, now)
	return state
}
