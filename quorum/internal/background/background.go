// Package background counts the work that outlives the call that started it, such as goroutines and
// requests without an answer, so that Close can wait for all of it.
package background

import (
	"context"
	"sync"
)

// Group owns late votes, pending deletes and watchers. Every goroutine of package quorum that outlives a
// call is in it.
//
// A sync.WaitGroup doesn't serve, because work is added during a Wait.
type Group struct {
	mu       sync.Mutex
	n        int           // work that ends on its own: goroutines, and requests without an answer
	standing int           // goroutines that run until Close
	changed  chan struct{} // closed when the next goroutine ends; nil if nothing waits for that
	closed   bool
	closing  chan struct{} // closed by Close
}

// New returns an empty Group.
func New() *Group { return &Group{closing: make(chan struct{})} }

// Add counts one goroutine or request, whose end must call Finish. It works after Close, too,
// because what is under way must be able to clean up.
func (g *Group) Add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

// Finish ends what Add counted.
func (g *Group) Finish() { g.finish(&g.n) }

func (g *Group) finish(count *int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*count--
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// Go runs f on a new goroutine.
func (g *Group) Go(f func()) {
	g.Add()
	go func() {
		defer g.Finish()
		f()
	}()
}

// GoStanding runs f on a new goroutine. f must return when Closing is closed, and Settle
// doesn't wait for it. After Close it does nothing.
func (g *Group) GoStanding(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.standing++
	go func() {
		defer g.finish(&g.standing)
		f()
	}()
}

// Close closes Closing. It doesn't wait.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.closing)
	}
}

// Closing is closed by Close.
func (g *Group) Closing() <-chan struct{} { return g.closing }

// Closed reports whether Close was called.
func (g *Group) Closed() bool {
	select {
	case <-g.closing:
		return true
	default:
		return false
	}
}

// Settle waits until only standing goroutines are left. It returns ctx's error if that ends
// first.
func (g *Group) Settle(ctx context.Context) error {
	return g.until(ctx, func() bool { return g.n == 0 })
}

// Wait waits until no goroutine is left. It returns ctx's error if that ends first.
func (g *Group) Wait(ctx context.Context) error {
	return g.until(ctx, func() bool { return g.n == 0 && g.standing == 0 })
}

func (g *Group) until(ctx context.Context, met func() bool) error {
	for {
		g.mu.Lock()
		if met() {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
