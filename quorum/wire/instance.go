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
	// is listed in Identity.Hidden. An error means that the server did not answer, that it
	// cannot be an instance at all, or that clients of another Set use it (*SetMismatchError).
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

// Connector is an Instance that connects to its server before it can send. It is optional. With
// it, a request's timeout counts from the moment at which there is a connection. Over a long
// distance, a connection can take longer to make than the timeout of a request. So without it,
// all requests after a pause would fail.
type Connector interface {
	Instance

	// Connected reports whether a request should not wait for a connection: because there is one,
	// or because the server didn't answer lately and waiting wouldn't help.
	Connected() bool

	// Connect asks for a connection and waits for it, until ctx ends or for a limit of the
	// Instance's own. The error says why there is no connection.
	Connect(ctx context.Context) error

	// RoundTrip is the shortest time that a small exchange with the server takes, 0 if it is
	// unknown.
	RoundTrip() time.Duration
}

// Notifier is an Instance whose server also keeps a queue of the processes that wait for a
// lock (Enqueue, Dequeue), and notifies the first of them when the lock is released (Request.Notify). It
// is optional: where an instance is no Notifier, waiting processes poll.
//
// A notification ends a pause early and does nothing else: the notified process asks for
// the lock like any other. A notification that is lost, late, repeated or forged cannot
// make two holders. A lost one costs no more than the pause until the next poll. So the
// queue is no part of the lock, and losing it does no harm.
type Notifier interface {
	Instance

	// Subscribe opens a connection for notifications from the server. It returns when the
	// server knows the subscription, or soon after ctx has ended. The end of ctx has no
	// effect on a Subscription that was returned.
	Subscribe(ctx context.Context) (Subscription, error)
}

// Subscription receives the notifications of one server, until it is closed or its
// connection is lost.
type Subscription interface {
	// Address is the address that the server notifies: printable ASCII without spaces, at
	// most 64 bytes. No two Subscriptions share one.
	Address() string

	// Next waits for the next notification and returns the key that was released. Only one
	// goroutine calls it at a time. An error is final: the Subscription was closed, or its
	// connection was lost, and notifications with it.
	Next() (key string, err error)

	// Close ends a call of Next and gives up the connection.
	Close() error
}
