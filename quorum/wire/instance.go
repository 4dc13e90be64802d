package wire

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
)

// Instance is one independent master, and the only door through which this
// package reaches a server: package instance implements it on go-redis, package
// simulation on a server in virtual time, and quorumtest.Check holds both to
// this contract.
//
// Methods are called from many goroutines at once.
type Instance interface {
	// Name names the instance in errors, hooks and reports. It never changes,
	// and no two instances of one Coordinator share it.
	Name() string

	// Send sends one command to the server and returns without waiting for the
	// answer, so that an Instance may send the commands of many callers together.
	// The vote is given to to: exactly once, when the server has answered or soon
	// after the timeout, whichever is first, and perhaps before Send returns. A vote
	// that failed because of the timeout has an error that Is
	// context.DeadlineExceeded, and says (Vote.Unsent) if the command was not sent by
	// then; it never is, in that case.
	//
	// timeout is above zero, and counts by the Instance's own clock.
	//
	// Send sends the command at most once: a SET NX that is sent again is refused by
	// its own first copy. It never panics and never blocks, whatever the server does.
	// SendBlocking makes it out of a client that blocks.
	Send(cmd Request, timeout time.Duration, to Receiver)

	// Probe asks the server who it is and how it is set up. It writes one thing there,
	// the mark that Identity.Served tells of; before is what the client knew of the server
	// that the name led to. What the server doesn't tell (an account without the right to ask, say) is left zero and
	// listed in Identity.Hidden; an error means that it didn't answer, or that
	// it can't be an instance at all.
	Probe(ctx context.Context, before Known) (Identity, error)

	// ConnLife is for how long after its name has come to lead to another server
	// commands may still be sent to the server before: because connections stay open, or
	// because something in between does the same. It never changes. 0 if the name never
	// moves.
	//
	// A vote that was got in this time stands for a TTL, while others already count from
	// when they first saw the new server. So the Coordinator refuses a TTL that is longer
	// than MaxTTL less the longest ConnLife.
	ConnLife() time.Duration
}

// Receiver is given the vote on a command that was sent.
type Receiver interface {
	// Receive is called on a goroutine that other votes wait for: it doesn't
	// block. It may send further commands.
	Receive(vote Vote)
}

// ReceiverFunc is a function that is a Receiver.
type ReceiverFunc func(Vote)

// Receive calls f.
func (f ReceiverFunc) Receive(vote Vote) { f(vote) }

// SendBlocking is Instance.Send for a client that blocks. It calls do on a goroutine of
// its own, under a context that ends after the timeout by clk (nil: the real clock). do
// returns soon after that, whatever the server does, and the goroutine ends with it.
func SendBlocking(clk clock.Clock, do func(context.Context, Request) Vote, cmd Request, timeout time.Duration, to Receiver) {
	if clk == nil {
		clk = clock.New()
	}
	ctx, cancel := clk.WithTimeout(context.Background(), timeout)
	go func() {
		defer cancel()
		to.Receive(do(ctx, cmd))
	}()
}
