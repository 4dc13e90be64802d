package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// oneLock is a client whose lock is free for its first caller.
type oneLock struct {
	taken, released bool
	lost            func()
}

func (o *oneLock) Acquire(_ context.Context, _ string, _, _ time.Duration, lost func()) (driver.Lock, error) {
	if o.taken {
		return nil, driver.Taken(errors.New("as expected"))
	}
	o.taken, o.lost = true, lost
	return o, nil
}

func (o *oneLock) Left() time.Duration { return time.Second }

func (o *oneLock) Token() uint64 { return 7 }

func (o *oneLock) Held() (bool, error) { return true, nil }

func (o *oneLock) Release() error {
	o.lost() // it was given back, so the box isn't told
	if o.released {
		return errors.New("not held")
	}
	o.released = true
	return nil
}

func TestRun(t *testing.T) {
	talk := []string{
		`garbage`, `{"error":"reading a request: invalid character 'g' looking for beginning of value"}`,
		`{"id":1,"do":"dance"}`, `{"id":1,"error":"there is no request \"dance\""}`,
		`{"id":2,"do":"hello"}`, `{"id":2,"name":"one lock","version":"1","servers":"one","can":["tell"]}`,
		`{"id":3,"do":"acquire","key":"k"}`, `{"id":3,"error":"acquire before open"}`,
		`{"id":4,"do":"open"}`, `{"id":4}`,
		`{"id":5,"do":"check","key":"k"}`, `{"id":5,"why":"it was not acquired"}`,
		`{"id":6,"do":"acquire","key":"k","ttl":1000}`, `{"id":6,"held":true,"left":1000,"token":7}`,
		`{"id":7,"do":"acquire","key":"k","ttl":1000}`, `{"id":7,"why":"taken"}`,
		`{"id":8,"do":"check","key":"k"}`, `{"id":8,"held":true}`,
		`{"id":9,"do":"extend","key":"k"}`, `{"id":9,"why":"unsupported operation"}`,
		`{"id":10,"do":"release","key":"k"}`, `{"id":10,"done":true}`,
		`{"id":11,"do":"check","key":"k"}`, `{"id":11,"why":"it was released"}`,
		`{"id":12,"do":"release","key":"k"}`, `{"id":12,"why":"not held"}`,
	}
	var in, want strings.Builder
	for i, line := range talk {
		fmt.Fprintln([]io.Writer{&in, &want}[i%2], line)
	}
	var out strings.Builder
	d := driver.Driver{
		Hello: driver.Hello{Name: "one lock", Version: "1", Servers: "one", Can: []string{"tell"}},
		Open:  func(string, []string, time.Duration) (driver.Client, error) { return &oneLock{}, nil },
	}
	if err := driver.Run(d, strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want.String() {
		t.Errorf("the answers were\n%s, want\n%s", out.String(), want.String())
	}
}

// losing is a client that tells of a loss at once.
type losing struct{ oneLock }

func (l *losing) Acquire(ctx context.Context, key string, ttl, wait time.Duration, lost func()) (driver.Lock, error) {
	lost()
	_, err := l.oneLock.Acquire(ctx, key, ttl, wait, lost)
	return l, err
}

func (l *losing) Extend(time.Duration) error { return nil }

// The box is told of the loss after it knows of the lock.
func TestLossIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, in := io.Pipe()
		out, answers := io.Pipe()
		d := driver.Driver{Open: func(string, []string, time.Duration) (driver.Client, error) { return &losing{}, nil }}
		ended := make(chan error)
		go func() { ended <- driver.Run(d, requests, answers) }()
		for _, talk := range [][2]string{
			{`{"id":1,"do":"open"}`, `{"id":1}`},
			{`{"id":2,"do":"acquire","key":"k","wait":1000}`, `{"id":2,"held":true,"left":1000,"token":7}` + "\n" + `{"event":"lost"}`},
			{`{"id":3,"do":"extend","key":"k"}`, `{"id":3,"held":true}`},
			{`{"id":4,"do":"release","key":"k"}`, `{"id":4,"done":true}`}, // no loss is told then
			{`{"id":5,"do":"check","key":"k"}`, `{"id":5,"why":"it was released"}`},
		} {
			go func() { _, _ = io.WriteString(in, talk[0]+"\n") }()
			got := make([]byte, len(talk[1])+1)
			if _, err := io.ReadFull(out, got); err != nil || string(got) != talk[1]+"\n" {
				t.Fatalf("got %q and %v, want %q", got, err, talk[1])
			}
			synctest.Wait() // for what comes after the answer
		}
		_ = in.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
