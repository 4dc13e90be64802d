// Package driver is the part of a driver of the box that all clients share: it reads requests, asks
// a lock client and writes its answers. docs/reference/driver.md has the protocol.
package driver

import (
	"bufio"
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
	// Acquire gets the lock on key. If wait is 0 it tries once. Its error Is ErrTaken if the
	// client says that another one has the lock. It calls lost, from any goroutine, when the
	// client tells that the lease is lost.
	Acquire(key string, ttl, wait time.Duration, lost func()) (Lock, error)
}

// Lock is a lock that a Client has got. If the client knows how much of the lease is left, it has a
// method Left() time.Duration, too.
type Lock interface {
	// Token is the fencing token, 0 if the client has none.
	Token() uint64
	// Held asks the client whether it still has the lock.
	Held() (bool, error)
	// Extend renews the lease.
	Extend(ttl time.Duration) error
	// Release gives the lock back.
	Release() error
}

// NoToken is embedded by locks of clients without fencing tokens.
type NoToken struct{}

// Token returns 0.
func (NoToken) Token() uint64 { return 0 }

// NoExtend is embedded by locks that their client extends without being asked.
type NoExtend struct{}

// Extend fails.
func (NoExtend) Extend(time.Duration) error { return errors.ErrUnsupported }

// ErrTaken is the error of an Acquire if the client says that another one has the lock.
var ErrTaken = errors.New("taken")

// Run answers the requests on in until it ends.
func Run(d Driver, in io.Reader, out io.Writer) error {
	l := &loop{driver: d, out: json.NewEncoder(out), leases: map[string]*lease{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			l.write(Answer{Error: "reading a request: " + err.Error()})
			continue
		}
		a := l.answer(r)
		a.ID = r.ID
		l.write(a)
		if lease := l.leases[r.Key]; lease != nil && r.Do == DoAcquire && a.Held {
			close(lease.answered)
		}
	}
	return lines.Err()
}

type loop struct {
	driver Driver
	client Client
	leases map[string]*lease // by key; those that were released, too

	mu  sync.Mutex
	out *json.Encoder
}

// lease is the last lock on a key.
type lease struct {
	Lock
	answered chan struct{} // closed when the box knows that it is held
	over     chan struct{} // closed when it is to be released, or there is a newer one
}

// end says that nothing more is to be told of the lease.
func (l *lease) end() {
	select {
	case <-l.over:
	default:
		close(l.over)
	}
}

func (l *loop) write(a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
			err := lease.Extend(ttl)
			return Answer{Held: err == nil, Why: why(err)}
		}
		return lease.release()
	}
	return Answer{Error: fmt.Sprintf("there is no request %q", r.Do)}
}

func (l *loop) acquire(key string, ttl, wait time.Duration) Answer {
	got := &lease{answered: make(chan struct{}), over: make(chan struct{})}
	lock, err := l.client.Acquire(key, ttl, wait, func() { go l.lost(got) })
	if err != nil {
		return Answer{Why: why(err)}
	}
	if before := l.leases[key]; before != nil {
		before.end()
	}
	got.Lock, l.leases[key] = lock, got
	a := Answer{Held: true, Token: lock.Token()}
	if timed, ok := lock.(interface{ Left() time.Duration }); ok {
		left := float64(timed.Left().Milliseconds())
		a.Left = &left
	}
	return a
}

// lost tells the box, unless the lock was given back.
func (l *loop) lost(lease *lease) {
	<-lease.answered
	select {
	case <-lease.over:
	default:
		l.write(Answer{Event: EventLost})
	}
}

// check doesn't ask the client about a lock that was given back: its user knows.
func (l *lease) check() Answer {
	select {
	case <-l.over:
		return Answer{Why: "it was released"}
	default:
		held, err := l.Held()
		return Answer{Held: held, Why: why(err)}
	}
}

func (l *lease) release() Answer {
	l.end()
	err := l.Release()
	return Answer{Done: err == nil, Why: why(err)}
}

// why is the box's word for an error. What the word leaves out goes to the standard error.
func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrTaken):
		fmt.Fprintln(os.Stderr, err)
		return WhyTaken
	}
	return err.Error()
}
