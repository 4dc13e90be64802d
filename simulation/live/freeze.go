//go:build unix

package live

import (
	"io"
	"os"
	"time"
)

// freezing is a Go program whose world is stopped: it dumps its heap, which the runtime
// does with the world stopped, to a pipe that isn't read.
type freezing struct {
	a       *actor
	dumped  *pending
	drained chan error
	since   time.Time
}

// freeze stops the actor's world, and returns when it stands still.
func (a *actor) freeze() *freezing {
	f := &freezing{a: a, dumped: a.begin(request{Do: doFreeze}), drained: make(chan error, 1)}
	// The first byte comes when the world has stopped, and the rest doesn't fit into
	// the pipe.
	deadline := time.Now().Add(patience)
	a.s.must(a.dump.SetReadDeadline(deadline))
	if _, err := io.ReadFull(a.dump, make([]byte, 1)); err != nil {
		a.s.fail("live: %s doesn't dump its heap: %w", a.who, err)
	}
	a.s.must(a.dump.SetReadDeadline(time.Time{}))
	f.since = time.Now()
	return f
}

// thaw lets the world go on. It gives how long it stood still, as the world itself has
// noticed.
func (f *freezing) thaw() {
	lasted := time.Since(f.since)
	go func() {
		_, err := io.Copy(io.Discard, f.a.dump)
		f.drained <- err
	}()
	said := f.dumped.await()
	_ = f.a.dump.SetReadDeadline(time.Unix(1, 0))
	if err := <-f.drained; err != nil && !os.IsTimeout(err) {
		f.a.s.must(err)
	}
	if said.Gap < lasted/2 {
		f.a.s.fail("live: %s was to stand still for %v, but did so for %v at most", f.a.who, lasted, said.Gap)
	}
	f.a.s.say("its world stood still for %v", said.Gap.Round(time.Millisecond))
}
