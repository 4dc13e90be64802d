package instance

import (
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// replicaTimeout is how long a batch's WAIT waits: Config.ReplicaTimeout, or half of the
// time that the calls to be replicated have left.
//
// It must end before the calls do. Otherwise WAIT's reply, how many replicas acknowledged,
// comes too late, and missing replicas look like a server that hangs. The other half is for
// the reply's way back.
func (b *batch) replicaTimeout() time.Duration {
	if own := b.pipe.r.cfg.ReplicaTimeout; own > 0 {
		return own
	}
	var last time.Time
	for _, c := range b.calls {
		if !c.writes() {
			continue
		}
		if c.deadline.IsZero() {
			return defaultReplicaTimeout
		}
		if c.deadline.After(last) {
			last = c.deadline
		}
	}
	left := last.Sub(b.began) / 2
	return min(max(left.Truncate(time.Millisecond), time.Millisecond), defaultReplicaTimeout)
}

// readWait turns grants that too few replicas acknowledged into failed votes.
func (b *batch) readWait(err error) {
	if b.wait == nil {
		return
	}
	if err = b.replicated(err); err == nil {
		return
	}
	for _, c := range b.calls {
		if c.writes() && c.vote.Outcome == wire.Granted {
			c.fail(err)
		}
	}
}

// replicated returns an error if too few replicas acknowledged.
func (b *batch) replicated(err error) error {
	cfg, reply := b.pipe.r.cfg, &b.wait.reply
	if err := b.incomplete(b.wait, err); err != nil {
		return err
	}
	if text, bad := reply.failure(); bad {
		return fmt.Errorf("%w: WAIT: %w", wire.ErrNotReplicated, serverError(text))
	}
	r := parser{rest: reply.raw}
	n := r.integer()
	if !r.end() {
		return fmt.Errorf("%w: WAIT answered %.60q", ErrReply, reply.raw)
	}
	//guard:replicas-have-it  a grant that too few replicas acknowledged doesn't count
	if n < int64(cfg.Replicas) {
		return fmt.Errorf("%w: %d of %d within %v; see to the replicas, or lower Config.Replicas",
			wire.ErrNotReplicated, n, cfg.Replicas, b.waited)
	}
	return nil
}
