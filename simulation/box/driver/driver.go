// Package driver is the part of a driver of the box that all clients share: it reads requests, asks
// a lock client and writes its answers. docs/reference/driver.md has the protocol.
package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Driver is a lock client as the box sees it.
type Driver struct {
	// Hello says what the client is.
	Hello Hello
	// Open makes a client with the name of the servers.
	Open func(client string, servers []string, ttl time.Duration) (Client, error)
}

// Client takes locks. Its methods, and those of its locks, are called one after the other.
type Client interface {
	// Acquire gets the lock on key. If it has a wait, it waits for so long, which is when ctx ends;
	// else it tries once. Its error is Taken if the client says that another one has the lock. It
	// calls lost, from any goroutine, when the client tells that the lease is lost.
	Acquire(ctx context.Context, key string, ttl, wait time.Duration, lost func()) (Lock, error)
}

// Lock is a lock that a Client has got. It has methods for what else the client can: Extend(ttl
// time.Duration) error renews the lease, Token() uint64 is its fencing token, and Left() time.Duration is
// how much of it is left.
type Lock interface {
	// Held asks the client whether it still has the lock.
	Held() (bool, error)
	// Release gives the lock back.
	Release() error
}

var errTaken = errors.New("taken")

// Taken is the error of an Acquire if the client says by err that another one has the lock.
func Taken(err error) error { return fmt.Errorf("%w: %w", errTaken, err) }

// Run answers the requests on in until it ends.
func Run(d Driver, in io.Reader, out io.Writer) error {
	l := &loop{driver: d, out: json.NewEncoder(out), leases: map[string]*lease{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		l.take(lines.Bytes())
	}
	return lines.Err()
}

type loop struct {
	mu     sync.Mutex // from a request to its answer
	driver Driver
	client Client
	out    *json.Encoder
	leases map[string]*lease // by key; those that were released, too
}

// lease is the last lock on a key.
type lease struct {
	Lock
	over bool // it was released, or there is a newer one: nothing more is to be told of it
}

// take answers a request.
func (l *loop) take(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		l.write(Answer{Error: "reading a request: " + err.Error()})
		return
	}
	a := l.answer(r)
	a.ID = r.ID
	l.write(a)
}

func (l *loop) write(a Answer) {
	if err := l.out.Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, "writing an answer:", err)
	}
}

func (l *loop) answer(r Request) Answer {
	ttl := time.Duration(r.TTL) * time.Millisecond
	switch r.Do {
	case DoHello:
		return Answer{Hello: l.driver.Hello}
	case DoOpen:
		client, err := l.driver.Open(r.Client, r.Servers, ttl)
		if err != nil {
			return Answer{Error: err.Error()}
		}
		l.client = client
		return Answer{}
	case DoAcquire:
		if l.client == nil {
			return Answer{Error: "acquire before open"}
		}
		return l.acquire(r.Key, ttl, time.Duration(r.Wait)*time.Millisecond)
	case DoCheck, DoExtend, DoRelease:
		lease := l.leases[r.Key]
		if lease == nil {
			return Answer{Why: "it was not acquired"}
		}
		switch r.Do {
		case DoCheck:
			return lease.check()
		case DoExtend:
			return lease.extend(ttl)
		}
		return lease.release()
	}
	return Answer{Error: fmt.Sprintf("there is no request %q", r.Do)}
}

func (l *loop) acquire(key string, ttl, wait time.Duration) Answer {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	got := &lease{}
	lock, err := l.client.Acquire(ctx, key, ttl, wait, func() { go l.lost(got) })
	if err != nil {
		return Answer{Why: why(err)}
	}
	if before := l.leases[key]; before != nil {
		before.over = true
	}
	got.Lock, l.leases[key] = lock, got
	a := Answer{Held: true}
	if fenced, ok := lock.(interface{ Token() uint64 }); ok {
		a.Token = fenced.Token()
	}
	if timed, ok := lock.(interface{ Left() time.Duration }); ok {
		left := float64(timed.Left().Milliseconds())
		a.Left = &left
	}
	return a
}

// lost tells the box, when it knows that the lock is held, and unless it was given back.
func (l *loop) lost(lease *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease.Lock != nil && !lease.over {
		l.write(Answer{Event: EventLost})
	}
}

// check doesn't ask the client about a lock that was given back: its user knows.
func (l *lease) check() Answer {
	if l.over {
		return Answer{Why: "it was released"}
	}
	held, err := l.Held()
	return Answer{Held: held, Why: why(err)}
}

func (l *lease) extend(ttl time.Duration) Answer {
	err := errors.ErrUnsupported
	if long, ok := l.Lock.(interface{ Extend(time.Duration) error }); ok {
		err = long.Extend(ttl)
	}
	return Answer{Held: err == nil, Why: why(err)}
}

func (l *lease) release() Answer {
	l.over = true
	err := l.Release()
	return Answer{Done: err == nil, Why: why(err)}
}

// why is the box's word for an error. What the word leaves out goes to the standard error.
func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errTaken):
		fmt.Fprintln(os.Stderr, err)
		return WhyTaken
	}
	return err.Error()
}
