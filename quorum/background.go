package quorum

import (
	"context"
	"sync"
)

// background counts the work that outlives the call that started it, so that Close can wait for all of
// it: late votes, pending deletes, the keeper. Every goroutine of this package that outlives a call is
// in it, and every request without an answer.
//
// A sync.WaitGroup doesn't serve, because work is added during a Wait.
type background struct {
	ctx     context.Context // ends with close
	end     context.CancelFunc
	closing <-chan struct{} // closed by close

	mu       sync.Mutex
	n        int           // work that ends on its own: goroutines, and requests without an answer
	resident int           // goroutines that run until close
	calls    int           // of Do, which end and release soon after close
	changed  chan struct{} // closed when the next goroutine ends; nil if nothing waits for that
}

func newBackground() *background {
	ctx, end := context.WithCancel(context.Background())
	return &background{ctx: ctx, end: end, closing: ctx.Done()}
}

// add counts one goroutine or request, whose end must call finish. It works after close, too,
// because what is under way must be able to clean up.
func (b *background) add() {
	b.mu.Lock()
	b.n++
	b.mu.Unlock()
}

// begin is add for work that must not begin after close, whose end nobody would wait for. It reports whether it may.
func (b *background) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed() {
		return false
	}
	b.n++
	return true
}

// finish ends what add or begin counted.
func (b *background) finish() { b.less(&b.n) }

func (b *background) less(count *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*count--
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// enter counts a call that Close waits for and settle doesn't, and leave ends it.
func (b *background) enter() {
	b.mu.Lock()
	b.calls++
	b.mu.Unlock()
}

func (b *background) leave() { b.less(&b.calls) }

// spawn runs f on a new goroutine.
func (b *background) spawn(f func()) {
	b.add()
	go func() {
		defer b.finish()
		f()
	}()
}

// spawnResident runs f on a new goroutine. f must return when closing is closed, and settle
// doesn't wait for it. After close it does nothing.
func (b *background) spawnResident(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed() {
		return
	}
	b.resident++
	go func() {
		defer b.less(&b.resident)
		f()
	}()
}

// close closes closing. It doesn't wait.
func (b *background) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

// isClosed reports whether close was called.
func (b *background) isClosed() bool { return b.ctx.Err() != nil }

// settle waits until only calls and resident goroutines are left, and wait until nothing is. They return ctx's
// error if that ends first.
func (b *background) settle(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.n == 0 })
}

func (b *background) wait(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.n == 0 && b.resident == 0 && b.calls == 0 })
}

// left is how many calls of Do, and what else, wait still waits for.
func (b *background) left() (calls, others int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls, b.n + b.resident
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
