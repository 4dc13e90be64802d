//go:build unix

package live

import (
	"io"
	"os"
	"time"
)

// freeze is a stop of a Go program's world: the runtime stops the world while it dumps the
// heap, here to a pipe that nobody reads.
type freeze struct {
	a       *clientProcess
	dumped  *pending
	drained chan error
	since   time.Time
}

// freeze stops the client's world and returns when it has stopped.
func (a *clientProcess) freeze() *freeze {
	f := &freeze{a: a, dumped: a.begin(request{Do: doFreeze}), drained: make(chan error, 1)}
	// The first byte arrives after the world has stopped. The rest does not fit into the
	// pipe.
	deadline := time.Now().Add(patience)
	a.env.must(a.dump.SetReadDeadline(deadline))
	if _, err := io.ReadFull(a.dump, make([]byte, 1)); err != nil {
		a.env.fail("live: %s didn't dump its heap: %w", a.who, err)
	}
	a.env.must(a.dump.SetReadDeadline(time.Time{}))
	f.since = time.Now()
	return f
}

// thaw restarts the world and checks that the client noticed the stop.
func (f *freeze) thaw() {
	lasted := time.Since(f.since)
	go func() {
		_, err := io.Copy(io.Discard, f.a.dump)
		f.drained <- err
	}()
	said := f.dumped.await()
	_ = f.a.dump.SetReadDeadline(time.Unix(1, 0))
	if err := <-f.drained; err != nil && !os.IsTimeout(err) {
		f.a.env.must(err)
	}
	if said.Gap < lasted/2 {
		f.a.env.fail("live: %s should have been stopped for %v, but was for at most %v", f.a.who, lasted, said.Gap)
	}
	f.a.env.say("its world was stopped for %v", said.Gap.Round(time.Millisecond))
}
