package wire

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
)

// Instance is the client's handle of one independent master, and the only way in which
// package quorum reaches that server. Its methods are called from many goroutines at once.
type Instance interface {
	// Name names the instance in errors, hooks and reports. It never changes, and no two
	// instances of one Coordinator share a name.
	Name() string

	// Send sends one request and returns without waiting for the answer, so that an
	// Instance can send the requests of many callers together. The receiver gets the vote
	// exactly once: when the server has answered, or soon after the timeout, and perhaps
	// before Send returns. A vote that failed because of the timeout has an error that Is
	// context.DeadlineExceeded. If the request was not sent by then, it never will be, and
	// the vote says so (Vote.Unsent).
	//
	// The timeout is above zero and counts by the Instance's own clock.
	//
	// Send sends the request at most once, because a SET NX that is sent again is refused
	// by its own first copy. It never panics and never blocks, whatever the server does.
	// SendBlocking implements it with a client that blocks.
	Send(req Request, timeout time.Duration, to Receiver)

	// Probe asks the server who it is and how it is set up. It writes the mark (see
	// Identity.Served); known is what the client knew of the server before. What the server
	// does not tell, for example because the account lacks the right to ask, stays zero and
	// is listed in Identity.Hidden. An error means that the server did not answer, or that
	// it cannot be an instance at all.
	Probe(ctx context.Context, known Known) (Identity, error)

	// ConnLife is how long requests may still reach the previous server after the
	// instance's name has come to lead to another one: because connections stay open, or
	// because a proxy keeps them open. It never changes. 0 if the name never moves.
	//
	// A vote from the previous server stands for a TTL, while other clients count from the
	// moment at which they first saw the new server. So the Coordinator refuses a TTL
	// longer than MaxTTL less the longest ConnLife.
	ConnLife() time.Duration
}

// Receiver gets the vote on a request.
type Receiver interface {
	// Receive must not block, because other votes wait for its goroutine. It may send
	// further requests.
	Receive(vote Vote)
}

// ReceiverFunc is a function that is a Receiver.
type ReceiverFunc func(Vote)

// Receive calls f.
func (f ReceiverFunc) Receive(vote Vote) { f(vote) }

// SendBlocking implements Instance.Send with a client that blocks. It calls do on a
// goroutine of its own, under a context that ends after the timeout by clk (nil: the real
// clock). The goroutine ends when do returns, which must be soon after the context's end.
func SendBlocking(clk clock.Clock, do func(context.Context, Request) Vote, req Request, timeout time.Duration, to Receiver) {
	if clk == nil {
		clk = clock.New()
	}
	ctx, cancel := clk.WithTimeout(context.Background(), timeout)
	go func() {
		defer cancel()
		to.Receive(do(ctx, req))
	}()
}
