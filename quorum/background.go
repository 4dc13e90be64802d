package quorum

import (
	"context"
	"sync"
)

// background owns the goroutines that outlive the call that started them:
// stragglers, debts, watchers. Nobody else starts one, and wait tells when the
// last has ended.
//
// A sync.WaitGroup can't serve: goroutines are added while somebody waits.
type background struct {
	mu       sync.Mutex
	n        int           // goroutines that end by themselves
	standing int           // goroutines that run until close
	changed  chan struct{} // not nil while somebody waits; closed at the next end
	closed   bool
	done     chan struct{} // closed by close
}

func newBackground() *background { return &background{done: make(chan struct{})} }

// add takes responsibility for one goroutine, which must call end. It works
// after close, too: what is under way must be allowed to clean up after itself.
func (b *background) add() {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
}

func (b *background) end() { b.ended(&b.n) }

func (b *background) ended(count *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*count--
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// start runs f on a goroutine of its own.
func (b *background) start(f func()) {
	b.add()
	go func() {
		defer b.end()
		f()
	}()
}

// startStanding runs f, which ends when done is closed, on a goroutine of its
// own that settle doesn't wait for. After close it does nothing.
func (b *background) startStanding(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.standing++
	go func() {
		defer b.ended(&b.standing)
		f()
	}()
}

// close tells what runs to come to an end.
func (b *background) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.done)
	}
}

// settle returns when no goroutine is left but standing ones, or with ctx's
// error.
func (b *background) settle(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.n == 0 })
}

// wait returns when no goroutine is left, or with ctx's error.
func (b *background) wait(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.n == 0 && b.standing == 0 })
}

func (b *background) until(ctx context.Context, met func() bool) error {
	for {
		b.mu.Lock()
		if met() {
			b.mu.Unlock()
			return nil
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isClosed reports whether a channel that is only ever closed is.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
