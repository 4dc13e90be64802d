package instance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// exchange is one or more commands that go to the server together, on one
// connection, and their answers.
//
// It knows for certain whether they were sent: the name of the first command is
// an argument that go-redis marshals when it has a connection, and right before
// it writes to it. Whatever failed before that (dialing, TLS, the handshake, a
// wait for a connection, a closed client) was never sent; and what was given up
// before that never will be, because the marshalling fails.
type exchange struct {
	client *redis.Client
	ctx    context.Context
	state  atomic.Uint32
	name   string // of the first command: EVALSHA, SET, ...
	asks   []ask

	written []byte // the name, as it is handed to go-redis
}

// ask is one command and where its answer goes.
type ask struct {
	args []any
	sink sink
}

// The states of an exchange. It begins unsent, becomes sent when its first
// command is written, and given up when nobody waits for it any more. A sent
// exchange becomes unsent again (see again) only after the server said that it
// did nothing.
const (
	unsent uint32 = iota
	sent
	givenUp
)

// errGivenUp stops a command that nobody waits for any more.
var errGivenUp = errors.New("instance: the call was given up before its command was sent")

// MarshalBinary gives the name of the first command when go-redis writes it.
func (x *exchange) MarshalBinary() ([]byte, error) {
	if !x.state.CompareAndSwap(unsent, sent) {
		return nil, errGivenUp
	}
	x.written = append(x.written[:0], x.name...)
	return x.written, nil
}

// String names the first command for go-redis's hooks.
func (x *exchange) String() string { return x.name }

// send sends the asks and waits for their answers. An error means that not all
// answers came; a server's error answers are in the sinks.
func (x *exchange) send() error {
	err := x.transmit()
	if errors.Is(err, errAnswered) {
		return nil
	}
	return err
}

func (x *exchange) transmit() error {
	if len(x.asks) == 1 {
		ask := &x.asks[0]
		return x.client.Process(x.ctx, redis.NewRawWriteToCmd(x.ctx, &ask.sink, ask.args...))
	}
	pipe := x.client.Pipeline()
	for i := range x.asks {
		ask := &x.asks[i]
		_ = pipe.Process(x.ctx, redis.NewRawWriteToCmd(x.ctx, &ask.sink, ask.args...))
	}
	_, err := pipe.Exec(x.ctx)
	return err
}

// again makes the exchange ready for another attempt, after an answer that says
// that the first did nothing. It reports false if it was given up meanwhile.
func (x *exchange) again() bool {
	return x.state.CompareAndSwap(sent, unsent)
}

// giveUp ends the caller's interest and reports whether nothing was sent nor
// will be.
func (x *exchange) giveUp() (unsentForGood bool) {
	return x.state.Swap(givenUp) == unsent
}

// recovered makes an error of a panic in go-redis or in one of its hooks.
func recovered(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%w: the client panicked: %w", ErrConnection, err)
	}
	return fmt.Errorf("%w: the client panicked: %v", ErrConnection, p)
}
