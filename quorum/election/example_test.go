package election_test

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// newExample makes a Coordinator on servers in memory. A program would use package instance to
// connect to real ones.
func newExample(owner string) *quorum.Coordinator {
	instances := make([]wire.Instance, 3)
	for i := range instances {
		instances[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
	}
	locks, err := quorum.New(quorum.Config{Owner: owner}, instances...)
	if err != nil {
		panic(err)
	}
	// These were just set up and never granted a lock, so they need not wait.
	if err := locks.Trust(context.Background()); err != nil {
		panic(err)
	}
	return locks
}

func Example() {
	locks := newExample("10.0.0.7:8080")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	defer locks.Close(context.Background()) //nolint:errcheck // an example

	e, err := election.New(locks, "scheduler", election.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = e.Run(ctx, func(ctx context.Context, term fencing.Token) error {
		leader, err := e.Leader(ctx) // any process can ask
		fmt.Println(leader.ID, "leads:", err == nil, term == e.Term())

		// Work until ctx ends, and send the term with every change. Here the process is told to
		// end.
		stop()
		<-ctx.Done()
		return nil // the work has stopped: now another candidate may lead
	})
	fmt.Println("ended:", err)
	// Output:
	// 10.0.0.7:8080 leads: true true
	// ended: quorum: interrupted by the caller's context: context canceled
}

// A scheduler such as gocron asks before each job whether this process leads.
func ExampleElection_IsLeader() {
	locks := newExample("")
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

func ExampleElection_Observe() {
	locks := newExample("10.0.0.7:8080")
	ctx := context.Background()
	defer locks.Close(ctx) //nolint:errcheck // an example
	e, err := election.New(locks, "scheduler", election.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for leader, err := range e.Observe(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(leader.ID)
	}
	// Output:
	// election: there is no leader ("scheduler")
}
