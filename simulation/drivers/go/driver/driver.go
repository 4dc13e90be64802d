// Package driver is the part of a driver of the box that all clients share: it reads requests,
// see package box, asks a lock client and writes its answers.
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

	"github.com/redquorum/redlock/simulation/box"
)

// A Driver is a lock client as the box sees it.
type Driver struct {
	// Hello is the answer to box.DoHello.
	Hello box.Answer
	// Open makes a client of the servers.
	Open func(servers []string, ttl time.Duration) (Client, error)
}

// Client takes locks. Its methods, and those of its locks, are called one after the other.
type Client interface {
	// Acquire gets the lock on key. If wait is 0 it tries once. Its error Is ErrTaken if the
	// client says that another one has the lock. It calls lost, from any goroutine, when the
	// client tells that the lease is lost.
	Acquire(key string, ttl, wait time.Duration, lost func()) (Lock, error)
}

// Lock is a lock that a Client has.
type Lock interface {
	// Token is the fencing token, 0 if the client has none.
	Token() uint64
	// Held asks the client whether it still has the lock.
	Held() (bool, error)
	Extend(ttl time.Duration) error
	Release() error
}

// NoToken is embedded by locks of clients without fencing tokens.
type NoToken struct{}

func (NoToken) Token() uint64 { return 0 }

// NoExtend is embedded by locks that their client extends without being asked.
type NoExtend struct{}

func (NoExtend) Extend(time.Duration) error { return errors.ErrUnsupported }

// ErrTaken is the error of an Acquire if the client says that another one has the lock.
var ErrTaken = errors.New(box.WhyTaken)

// Run answers the requests on in until it ends.
func Run(d Driver, in io.Reader, out io.Writer) error {
	l := &loop{driver: d, out: json.NewEncoder(out), leases: map[string]*lease{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r box.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			l.write(box.Answer{Error: "reading a request: " + err.Error()})
			continue
		}
		answer := l.answer(r)
		answer.ID = r.ID
		l.write(answer)
		if lease := l.leases[r.Key]; lease != nil && r.Do == box.DoAcquire && answer.Held {
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

func (l *loop) write(a box.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, "writing an answer:", err)
	}
}

func (l *loop) answer(r box.Request) box.Answer {
	ttl := time.Duration(r.TTL) * time.Millisecond
	switch r.Do {
	case box.DoHello:
		return l.driver.Hello
	case box.DoOpen:
		client, err := l.driver.Open(r.Servers, ttl)
		if err != nil {
			return box.Answer{Error: err.Error()}
		}
		l.client = client
		return box.Answer{}
	case box.DoAcquire:
		if l.client == nil {
			return box.Answer{Error: "acquire before open"}
		}
		return l.acquire(r.Key, ttl, time.Duration(r.Wait)*time.Millisecond)
	case box.DoCheck, box.DoExtend, box.DoRelease:
		lease := l.leases[r.Key]
		if lease == nil {
			return box.Answer{Why: "it was not acquired"}
		}
		switch r.Do {
		case box.DoCheck:
			return lease.check()
		case box.DoExtend:
			err := lease.Extend(ttl)
			return box.Answer{Held: err == nil, Why: why(err)}
		}
		return lease.release()
	}
	return box.Answer{Error: fmt.Sprintf("there is no request %q", r.Do)}
}

func (l *loop) acquire(key string, ttl, wait time.Duration) box.Answer {
	got := &lease{answered: make(chan struct{}), over: make(chan struct{})}
	lock, err := l.client.Acquire(key, ttl, wait, func() { go l.lost(got) })
	if err != nil {
		return box.Answer{Why: why(err)}
	}
	if before := l.leases[key]; before != nil {
		before.end()
	}
	got.Lock, l.leases[key] = lock, got
	return box.Answer{Held: true, Token: lock.Token()}
}

// lost tells the box, unless the lock was given back.
func (l *loop) lost(lease *lease) {
	<-lease.answered
	select {
	case <-lease.over:
	default:
		l.write(box.Answer{Event: box.EventLost})
	}
}

// check doesn't ask the client about a lock that was given back: its user knows.
func (l *lease) check() box.Answer {
	select {
	case <-l.over:
		return box.Answer{Why: "it was released"}
	default:
		held, err := l.Held()
		return box.Answer{Held: held, Why: why(err)}
	}
}

func (l *lease) release() box.Answer {
	l.end()
	err := l.Release()
	return box.Answer{Done: err == nil, Why: why(err)}
}

// why is the box's word for an error. What the word leaves out goes to the standard error.
func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrTaken):
		fmt.Fprintln(os.Stderr, err)
		return box.WhyTaken
	}
	return err.Error()
}
