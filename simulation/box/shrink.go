//go:build unix

package box

import (
	"context"
	"slices"
	"time"
)

// shrink removes steps from a play's schedule for as long as the play still shows the kind. It
// ends early after a time.
func (b *box) shrink(ctx context.Context, p Play, kind Kind, within time.Duration) Play {
	deadline := time.Now().Add(within)
	for size := max(1, len(p.Schedule)/2); ; size = max(1, size/2) {
		before := len(p.Schedule)
		for from := before - size; from >= 0; from -= size {
			if time.Now().After(deadline) || ctx.Err() != nil {
				return p
			}
			schedule := slices.Delete(slices.Clone(p.Schedule), from, from+size)
			if smaller, err := b.plays(ctx, schedule, p.TTL, p.Servers); err == nil && slices.Contains(smaller.kinds(), kind) {
				p = smaller
			}
		}
		// Of two steps that need each other, such as pause and resume, the first goes in one
		// round and the second in the next.
		if size == 1 && len(p.Schedule) == before {
			return p
		}
	}
}
