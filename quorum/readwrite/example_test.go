package readwrite_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/memory"
	"github.com/redquorum/redlock/quorum/readwrite"
)

// newExample makes a Coordinator on a server inside the process. A program would use redlock.Open.
func newExample() *quorum.Coordinator {
	servers, err := memory.Open("memory://")
	if err != nil {
		panic(err)
	}
	locks, err := quorum.New(quorum.Config{InstanceTimeout: 3 * time.Second}, servers...)
	if err != nil {
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
