package readwrite_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/quorum/wire"
)

// newExample makes a Coordinator on servers in memory. A program would use package instance to
// connect to real ones.
func newExample() *quorum.Coordinator {
	instances := make([]wire.Instance, 3)
	for i := range instances {
		instances[i] = quorumtest.NewServer(string(rune('A'+i)), nil)
	}
	locks, err := quorum.New(quorum.Config{}, instances...)
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
	locks := newExample()
	ctx := context.Background()
	defer locks.Close(ctx) //nolint:errcheck // an example

	book, err := readwrite.New(locks, "book", readwrite.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := book.Read(ctx) // waits while another client writes
	if err != nil {
		fmt.Println(err)
		return
	}
	lease.KeepAlive()
	held := lease.Within(ctx) // ends with the lease: read under it

	_, err = book.TryWrite(ctx)
	fmt.Println("a writer:", errors.Is(err, quorum.ErrTaken))
	second, err := book.TryRead(ctx)
	fmt.Println("another reader:", err == nil, second.Release(ctx))
	_, err = book.Write(held)
	fmt.Println("the same reader:", errors.Is(err, quorum.ErrHeldByCaller))

	fmt.Println(lease.Release(ctx))
	lease, err = book.Write(ctx) // waits for all readers
	if err != nil {
		fmt.Println(err)
		return
	}
	lease.KeepAlive()
	fmt.Println("a writer:", lease.Release(ctx))
	// Output:
	// a writer: true
	// another reader: true <nil>
	// the same reader: true
	// <nil>
	// a writer: <nil>
}
