package instance

import "time"

// replicaTimeout is for how long an exchange's WAIT waits: Config.ReplicaTimeout, or
// half of what is left to the calls of which the replicas are to have something.
//
// It must end before the calls do. Else the answer, how many replicas have it, comes when
// nobody waits for it any more, and replicas that are missing look like a server that
// hangs. In half of the time the answer can come back.
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
