package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

// newExample makes a Coordinator on servers in memory. A program would use package
// instance to connect to real ones.
func newExample(n int, cfg quorum.Config) (*quorum.Coordinator, []*quorumtest.Server) {
	servers := make([]*quorumtest.Server, n)
	instances := make([]wire.Instance, n)
	for i := range servers {
		servers[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
		instances[i] = servers[i]
	}
	// An example runs on the machine's clock, and a busy machine may take its time.
	cfg.TTL, cfg.InstanceTimeout = 30*time.Second, 10*time.Second
	c, err := quorum.New(cfg, instances...)
	if err != nil {
		panic(err)
	}
	// These were just set up and never granted a lock, so they need not wait.
	if err := c.Trust(context.Background()); err != nil {
		panic(err)
	}
	return c, servers
}

// The usual way: take the lock, keep it while the work runs, and release it.
func ExampleCoordinator_Do() {
	c, _ := newExample(5, quorum.Config{})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	err := c.Do(ctx, "orders/42", func(ctx context.Context, lease *quorum.Lease) error {
		// ctx ends when the lock is lost. A paused process learns that too late, so every write
		// should carry lease.Token(), and the resource should refuse a token smaller than the
		// largest it has seen.
		fmt.Println("held:", ctx.Err() == nil, lease.Token() > 0)
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// held: true true
	// error: <nil>
}

// A transfer needs both accounts, and another one may name them the other way round.
func ExampleCoordinator_DoAll() {
	c, _ := newExample(5, quorum.Config{})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	transfer := func(from, to string) error {
		return c.DoAll(ctx, []string{"account/" + from, "account/" + to}, func(ctx context.Context, lease *quorum.Lease) error {
			// One token for both accounts, larger than all that either has seen.
			fmt.Println(lease.Keys(), lease.Token() > 0)
			return nil
		})
	}
	fmt.Println(transfer("anna", "ben"), transfer("ben", "anna"))
	fmt.Println(transfer("anna", "anna"))
	// Output:
	// [account/anna account/ben] true
	// [account/anna account/ben] true
	// <nil> <nil>
	// quorum: bad configuration: the key "account/anna" is given twice; give each key once
}

func ExampleCoordinator_TryAcquire() {
	c, _ := newExample(3, quorum.Config{Owner: "worker-7"})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	lease, err := c.TryAcquire(ctx, "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.TryAcquire(ctx, "report")
	fmt.Println("taken:", errors.Is(err, quorum.ErrTaken))

	if err := lease.Release(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("after the release:", lease.Err())
	// Output:
	// taken: true
	// after the release: quorum: lease was released
}

// An error says what happened on each instance.
func ExampleRoundError_instances() {
	c, servers := newExample(3, quorum.Config{})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example
	servers[0].Kill()
	servers[1].Kill()

	_, err := c.TryAcquire(ctx, "k")
	var round *quorum.RoundError
	if errors.As(err, &round) {
		fmt.Println(round.Verdict)
		for _, ballot := range round.Votes[:2] {
			fmt.Println(ballot.Instance, ballot.Vote.Err)
		}
	}
	// Output:
	// quorum: no quorum of instances
	// A quorumtest: connection refused
	// B quorumtest: connection refused
}

// One process takes a lock and another one releases it.
func ExampleCoordinator_Resume() {
	c, _ := newExample(3, quorum.Config{})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	lease, err := c.TryAcquire(ctx, "upload")
	if err != nil {
		fmt.Println(err)
		return
	}
	handle, err := lease.HandOff(ctx) // from here on the lease is over
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := handle.Text() // a secret, to be sent to the other process
	if err != nil {
		fmt.Println(err)
		return
	}

	received, err := quorum.ParseHandle(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	resumed, err := c.Resume(ctx, received)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("larger token:", resumed.Token() > lease.Token())
	fmt.Println("released:", resumed.Release(ctx))
	// Output:
	// larger token: true
	// released: <nil>
}

func ExampleLease_Context() {
	c, _ := newExample(3, quorum.Config{})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	lease, err := c.TryAcquire(ctx, "k")
	if err != nil {
		fmt.Println(err)
		return
	}
	held := lease.Context()
	_ = lease.Release(ctx)
	<-held.Done()
	fmt.Println(context.Cause(held))
	// Output: quorum: lease was released
}

func ExampleCoordinator_Inspect() {
	c, _ := newExample(3, quorum.Config{Owner: "worker-7"})
	ctx := context.Background()
	defer c.Close(ctx) //nolint:errcheck // an example

	noted, err := c.WithTerms(func(terms *quorum.Terms) { terms.Note = "import of 12:00" })
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := noted.TryAcquire(ctx, "k"); err != nil {
		fmt.Println(err)
		return
	}
	_ = c.Settle(ctx) // until the slowest instance has it as well
	found, err := c.Inspect(ctx, "k")
	if err != nil {
		fmt.Println(err)
		return
	}
	if held := found.Held(); held != nil {
		fmt.Printf("%s (%s) %v %v\n", held.Owner, held.Note, held.Instances, held.Remaining > 9*time.Second)
	}
	// Output: worker-7 (import of 12:00) [A B C] true
}
