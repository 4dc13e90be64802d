package fencing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrFull is wrapped by the error of a Memory that has reached its limit and is
// shown a resource that it does not know. It refuses the new resource, because
// dropping a mark that is still needed would let stale holders in.
var ErrFull = errors.New("fencing: guard is full")

// MemoryConfig limits the resources and the tokens of a Memory.
type MemoryConfig struct {
	// Limit is the largest number of resources with a mark. 0 means no limit. At
	// the limit, Memory refuses a new resource with ErrFull: Forget those that are
	// gone for good.
	Limit int

	// Bound limits the tokens that the guard accepts. The zero Bound is right for
	// tokens of this module.
	Bound Bound
}

// Memory is a Guard that keeps its marks in this process. Use it in tests and for
// a resource that exists only as long as the process. Do not use it for a resource
// that outlives the process or that other processes write to: a restart forgets
// all marks, and another process has marks of its own.
//
// The zero Memory is ready to use, has no limit and accepts tokens up to the
// zero Bound. It must not be copied after its first use.
type Memory struct {
	config MemoryConfig

	mu    sync.Mutex
	marks map[string]*mark // made on first use
}

// mark is what a Memory knows about one resource; Memory.mu guards it.
type mark struct {
	resource string
	// Invariant: highest never falls except by Forget, and does not rise while a
	// write is in progress. So a caller whose larger token passed knows that
	// nothing is still being written under a smaller one. 0: no token yet.
	highest Token
	writing bool // a Write is in progress
	// queue has the calls that wait for the end of that write.
	// Invariant: it is empty unless writing.
	queue []*waiter
}

// verb is what a call does with a mark.
type verb int

const (
	showing    verb = iota // Admit and Check
	holding                // Write
	forgetting             // Forget
)

// waiter is a call that waits for the end of a write.
type waiter struct {
	verb    verb
	token   Token
	decided chan struct{} // closed when the fields below are set
	known   bool          // what Forget reports
	err     error
}

// NewMemory returns a Memory. An error names the field of c that is invalid.
func NewMemory(c MemoryConfig) (*Memory, error) {
	if c.Limit < 0 {
		return nil, fmt.Errorf("fencing: MemoryConfig.Limit is %d resources, want 1 or more, or 0 for no limit", c.Limit)
	}
	if err := c.Bound.Validate(); err != nil {
		return nil, err
	}
	return &Memory{config: c}, nil
}

// Admit implements Guard. A token above the mark waits for the Write in progress on
// the resource, so that the new holder reads the written data. Of the waiting
// calls, the one with the largest token goes first, and later calls queue behind it.
func (m *Memory) Admit(ctx context.Context, resource string, t Token) error {
	_, _, err := m.call(ctx, resource, t, showing)
	return err
}

// Check implements Guard, and waits as Admit does. It does not protect a write
// after Check has returned: see Write.
func (m *Memory) Check(ctx context.Context, resource string, t Token) error {
	_, _, err := m.call(ctx, resource, t, showing)
	return err
}

// Write checks t and runs write as one step: while it runs, no larger token is
// admitted to the resource and no other Write runs on it. Check followed by the
// same function does not guarantee that: between the two, a later holder may be
// admitted, read and write, and this write then overwrites it.
//
// If the check fails, Write returns its error without calling write. Otherwise it
// returns write's error unchanged. The mark stays raised when write fails or panics,
// because the token has been seen. A write should be short and bounded by ctx,
// because later holders wait for it. It may Check or Admit its own token again; a
// Write on the same resource, a larger token, or Forget would deadlock.
func (m *Memory) Write(ctx context.Context, resource string, t Token, write func() error) error {
	if write == nil {
		return fmt.Errorf("fencing: write to resource %q is nil; pass the function that writes", resource)
	}
	k, _, err := m.call(ctx, resource, t, holding)
	if err != nil {
		return err
	}
	defer m.finish(k)
	return write()
}

// Forget implements Guard. It waits for the Write in progress, and goes
// before the calls that wait as well.
func (m *Memory) Forget(ctx context.Context, resource string) (bool, error) {
	_, known, err := m.call(ctx, resource, first, forgetting)
	return known, err
}

// first is larger than every token, so Forget goes before all waiters.
const first = MaxToken + 1

// call decides one call, after the write that it has to wait for.
func (m *Memory) call(ctx context.Context, resource string, t Token, v verb) (k *mark, known bool, err error) {
	if m == nil {
		return nil, false, fmt.Errorf("fencing: the *Memory for resource %q is nil; use new(Memory) or NewMemory", resource)
	}
	if v == forgetting {
		err = Validate(resource, 1)
	} else {
		err = m.config.Bound.Check(resource, t)
	}
	if err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, notShown(resource, t, err)
	}
	k, w, known, err := m.begin(resource, t, v)
	if w == nil {
		return k, known, err
	}
	select {
	case <-w.decided:
	case <-ctx.Done():
		if m.leave(k, w) {
			return nil, false, notShown(resource, t, ctx.Err())
		}
		// It was decided at the same moment: the decision counts, because the mark
		// may have been raised.
	}
	return k, w.known, w.err
}

func notShown(resource string, t Token, err error) error {
	if t == first {
		return fmt.Errorf("fencing: resource %q not forgotten: %w", resource, err)
	}
	return fmt.Errorf("fencing: token %d not shown to resource %q: %w", uint64(t), resource, err)
}

// begin decides the call immediately, or returns its waiter.
func (m *Memory) begin(resource string, t Token, v verb) (k *mark, w *waiter, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k = m.marks[resource]
	if k == nil {
		if v == forgetting {
			return nil, nil, false, nil
		}
		if k, err = m.add(resource); err != nil {
			return nil, nil, false, err
		}
	}
	if k.waits(t, v) {
		w = &waiter{verb: v, token: t, decided: make(chan struct{})}
		k.queue = append(k.queue, w)
		return k, w, false, nil
	}
	known, err = k.decide(t, v)
	m.dropEmpty(k)
	return k, nil, known, err
}

// waits reports whether a call has to wait for the write in progress. A stale
// token does not wait, because the mark can only rise. Nor does an equal token
// that does not write.
func (k *mark) waits(t Token, v verb) bool {
	//guard:guard-waits-for-writes  a later holder waits for the write in progress
	return k.writing && (t > k.highest || t == k.highest && v == holding)
}

// decide executes a call that need not wait.
func (k *mark) decide(t Token, v verb) (known bool, err error) {
	switch {
	case v == forgetting:
		known, k.highest = k.highest != 0, 0
		return known, nil
	//guard:guard-refuses-lower  a guard refuses a token below the largest that it has seen
	case t < k.highest:
		return false, &StaleError{Resource: k.resource, Token: t, Highest: k.highest}
	}
	//guard:guard-remembers  a guard remembers the largest token that it was shown
	k.highest = t // never falls: t >= highest
	k.writing = k.writing || v == holding
	return false, nil
}

// finish ends a write and decides the calls that waited for it, the largest
// token first. It keeps the mutex in between. Otherwise the holder that has just
// written could always begin its next write before the later holder is admitted.
func (m *Memory) finish(k *mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k.writing = false
	// Otherwise a holder that writes back to back could starve a later one.
	slices.SortStableFunc(k.queue, func(a, b *waiter) int { return cmp.Compare(b.token, a.token) })
	k.queue = slices.DeleteFunc(k.queue, func(w *waiter) bool {
		if k.waits(w.token, w.verb) {
			return false
		}
		w.known, w.err = k.decide(w.token, w.verb)
		close(w.decided)
		return true
	})
	m.dropEmpty(k)
}

// leave removes a waiter from the queue. It returns false if the waiter was
// already decided.
func (m *Memory) leave(k *mark, w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.Index(k.queue, w)
	if at < 0 {
		return false
	}
	k.queue = slices.Delete(k.queue, at, at+1)
	return true
}

// add creates the mark of a new resource.
func (m *Memory) add(resource string) (*mark, error) {
	if m.config.Limit > 0 && len(m.marks) >= m.config.Limit {
		return nil, fmt.Errorf("%w: it knows %d resources; forget those that are gone, or raise the limit (new resource %q)",
			ErrFull, len(m.marks), resource)
	}
	if m.marks == nil {
		m.marks = make(map[string]*mark)
	}
	k := &mark{resource: resource}
	m.marks[resource] = k
	return k, nil
}

// dropEmpty drops a mark that was forgotten and not raised again.
func (m *Memory) dropEmpty(k *mark) {
	if k.highest == 0 && !k.writing {
		delete(m.marks, k.resource)
	}
}

// Highest returns the mark of a resource: the largest token seen, and whether any
// was. A nil Memory has seen none.
func (m *Memory) Highest(resource string) (Token, bool) {
	if m == nil {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.marks[resource]
	if k == nil {
		return 0, false
	}
	return k.highest, true
}

// Len returns the number of resources that have a mark, 0 for a nil Memory.
func (m *Memory) Len() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.marks)
}
