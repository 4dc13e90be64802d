package election_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/memory"
)

// newExample makes the Coordinator of a process, on a server inside this one. A program would use
// redlock.Open.
func newExample(owner, server string) *quorum.Coordinator {
	servers, err := memory.Open("memory://" + server)
	if err != nil {
		panic(err)
	}
	locks, err := quorum.New(quorum.Config{Owner: owner, InstanceTimeout: 3 * time.Second}, servers...)
	if err != nil {
		panic(err)
	}
	return locks
}

// Two processes campaign. The first one leads until it is told to end, and then the second one does.
func Example() {
	terms := make(chan fencing.Token)
	process := func(address string) (stop context.CancelFunc, ended chan error) {
		ctx, stop := context.WithCancel(context.Background())
		ended = make(chan error, 1)
		locks := newExample(address, "two")
		e, err := election.New(locks, "scheduler", election.Config{})
		if err != nil {
			panic(err)
		}
		go func() {
			err := e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
				leader, err := e.Leader(ctx) // any process can ask
				fmt.Println(leader.ID, "leads:", err == nil, term == e.Term())
				terms <- term
				<-ctx.Done() // work until then, and send the term with every change
				return nil   // the work has stopped: now another candidate may lead
			})
			_ = locks.Close(context.Background())
			ended <- err
		}()
		return stop, ended
	}
	stopFirst, ended := process("10.0.0.7:8080")
	first := <-terms
	stopSecond, endedToo := process("10.0.0.8:8080")
	stopFirst()
	fmt.Println("a larger term:", <-terms > first)
	fmt.Println("ended:", <-ended)
	stopSecond()
	<-endedToo
	// Output:
	// 10.0.0.7:8080 leads: true true
	// 10.0.0.8:8080 leads: true true
	// a larger term: true
	// ended: quorum: interrupted by the caller's context: context canceled
}

// A scheduler such as gocron asks before each job whether this process leads.
func ExampleElection_IsLeader() {
	locks := newExample("", "asks")
	ctx := context.Background()
	defer locks.Close(ctx) //nolint:errcheck // an example
	e, err := election.New(locks, "scheduler", election.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var elector interface {
		IsLeader(ctx context.Context) error
	} = e
	fmt.Println(elector.IsLeader(ctx))
	_ = e.Run(ctx, func(ctx context.Context, _ fencing.Token) error {
		fmt.Println(elector.IsLeader(ctx))
		return nil
	})
	// Output:
	// election: this candidate does not lead ("scheduler")
	// <nil>
}
