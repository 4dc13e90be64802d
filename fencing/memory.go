package fencing

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrFull is wrapped by the error of a Memory that has reached its limit and is
// shown a resource that it does not know. It does not make room by itself:
// dropping a mark would let stale holders in, so the new resource is the one
// that is refused.
var ErrFull = errors.New("fencing: guard is full")

// Memory is a Guard that keeps its marks in this process. It is right for a
// resource that lives and dies with the process, and for tests. It is wrong for
// one that outlives it, or that other processes write to as well: a restart
// forgets all marks, and another process has marks of its own.
//
// The zero Memory is ready to use and has no limit. It must not be copied after
// its first use.
type Memory struct {
	limit int // 0: none

	mu    sync.Mutex
	marks map[string]*mark // made on first use
}

// mark is what a Memory knows about one resource; Memory.mu guards it.
type mark struct {
	// Invariant: highest never falls, and does not rise while a write is under
	// way. So whoever has been told that its larger token passed knows that
	// nothing is still being written under a smaller one.
	highest Token
	// writing is closed at the end of the write that is under way; nil: none is.
	writing chan struct{}
}

// NewMemory gives a Memory that knows at most limit resources, and refuses
// further ones with ErrFull until some are forgotten. The limit is at least 1;
// use the zero Memory for none.
func NewMemory(limit int) (*Memory, error) {
	if limit < 1 {
		return nil, fmt.Errorf("fencing: limit of %d resources, want at least 1; use the zero Memory for no limit", limit)
	}
	return &Memory{limit: limit}, nil
}

// Admit implements Guard. A token above the mark waits for the Write that is
// under way on the resource, so that the new holder reads what that one wrote.
func (m *Memory) Admit(ctx context.Context, resource string, t Token) error {
	_, err := m.show(ctx, resource, t, false)
	return err
}

// Check implements Guard, and waits as Admit does. A write that is made after
// Check has returned is not protected: see Write.
func (m *Memory) Check(ctx context.Context, resource string, t Token) error {
	_, err := m.show(ctx, resource, t, false)
	return err
}

// Write checks t and runs write as one step: while it runs, no larger token is
// admitted to the resource and no other Write runs on it. That is what Check
// followed by the same function cannot give, because between the two a later
// holder may be admitted, read and write, and be overwritten by this one.
//
// The error is that of the check, and then write was not called; or else
// write's own, as it is. The mark stays raised when write fails or panics, as the token
// has been seen all the same. A write should be short and bounded by ctx, for
// later holders wait for it. It may Check or Admit its own token again, but a
// Write on the same resource, or a larger token, would wait for itself.
func (m *Memory) Write(ctx context.Context, resource string, t Token, write func() error) error {
	if write == nil {
		return fmt.Errorf("fencing: write to resource %q is nil; pass the function that writes", resource)
	}
	done, err := m.show(ctx, resource, t, true)
	if err != nil {
		return err
	}
	defer done()
	return write()
}

// show compares t with the mark and raises it. With hold set, it also marks the
// resource as being written to until done is called.
func (m *Memory) show(ctx context.Context, resource string, t Token, hold bool) (done func(), err error) {
	if err := Validate(resource, t); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fencing: token %d not shown to resource %q: %w", t, resource, err)
		}
		done, busy, err := m.try(resource, t, hold)
		if busy == nil {
			return done, err
		}
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

// try is one attempt of show. A busy channel that is not nil means that a write
// is under way whose end has to be waited for, and that nothing was changed.
func (m *Memory) try(resource string, t Token, hold bool) (done func(), busy <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.marks[resource]
	if k == nil {
		if k, err = m.add(resource); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case t < k.highest: // needs no waiting: the mark can only rise
		return nil, nil, &StaleError{Resource: resource, Token: t, Highest: k.highest}
	case k.writing != nil && (hold || t > k.highest):
		return nil, k.writing, nil
	}
	k.highest = t // never falls: t >= highest
	if hold {
		k.writing = make(chan struct{})
		done = func() { m.finish(k) }
	}
	return done, nil, nil
}

func (m *Memory) add(resource string) (*mark, error) {
	if m.limit > 0 && len(m.marks) >= m.limit {
		return nil, fmt.Errorf("%w: it knows %d resources; forget those that are gone, or raise the limit (new resource %q)",
			ErrFull, len(m.marks), resource)
	}
	if m.marks == nil {
		m.marks = make(map[string]*mark)
	}
	k := new(mark)
	m.marks[resource] = k
	return k, nil
}

func (m *Memory) finish(k *mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(k.writing)
	k.writing = nil
}

// Highest gives the mark of a resource: the largest token seen, and whether any
// was.
func (m *Memory) Highest(resource string) (Token, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.marks[resource]
	if k == nil {
		return 0, false
	}
	return k.highest, true
}

// Len gives the number of resources that have a mark.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.marks)
}

// Forget drops the mark of a resource, to free its memory, and says whether
// there was one. It waits for a Write that is under way.
//
// Forgetting is dangerous: the next token passes however small it is, so that a
// paused holder of an old lease can write again. Forget a resource only when it
// is gone for good, or when no lease on it can have a holder that may still
// wake up; time alone does not tell, as a pause has no upper bound.
func (m *Memory) Forget(ctx context.Context, resource string) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("fencing: resource %q not forgotten: %w", resource, err)
		}
		known, busy := m.drop(resource)
		if busy == nil {
			return known, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

func (m *Memory) drop(resource string) (known bool, busy <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.marks[resource]
	if k == nil {
		return false, nil
	}
	if k.writing != nil {
		return false, k.writing
	}
	delete(m.marks, resource)
	return true, nil
}
