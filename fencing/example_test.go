package fencing_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/fencing"
)

// The holder of token 33 is paused between its read and its write. Meanwhile the
// holder of 34 arrives and shows its token before it reads.
func Example() {
	ctx := context.Background()
	var guard fencing.Memory
	balance := 100

	_ = guard.Admit(ctx, "account/7", 33)
	readByA := balance // A is paused here

	_ = guard.Admit(ctx, "account/7", 34)
	readByB := balance
	err := guard.Write(ctx, "account/7", 34, func() error {
		balance = readByB + 1
		return nil
	})
	fmt.Println("B:", balance, err)

	err = guard.Write(ctx, "account/7", 33, func() error { // A wakes up
		balance = readByA + 10
		return nil
	})
	fmt.Println("A:", balance, errors.Is(err, fencing.ErrStale))
	// Output:
	// B: 101 <nil>
	// A: 101 true
}

func ExampleMemory_Write() {
	ctx := context.Background()
	var guard fencing.Memory
	files := map[string]string{}

	save := func(t fencing.Token, text string) error {
		return guard.Write(ctx, "report", t, func() error {
			files["report"] = text
			return nil
		})
	}
	fmt.Println(save(34, "new"))
	fmt.Println(save(33, "old"))
	fmt.Println(files["report"])
	// Output:
	// <nil>
	// fencing: stale token 33 for resource "report": it has seen token 34, so this lease is over; stop and acquire again
	// new
}

func ExampleStaleError() {
	var guard fencing.Memory
	ctx := context.Background()
	_ = guard.Check(ctx, "r", 34)

	var stale *fencing.StaleError
	if err := guard.Check(ctx, "r", 33); errors.As(err, &stale) {
		fmt.Println(stale.Token, "came after", stale.Highest)
	}
	// Output: 33 came after 34
}

func ExampleNewMemory() {
	ctx := context.Background()
	guard, err := fencing.NewMemory(fencing.MemoryConfig{Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = guard.Check(ctx, "a", 1)
	err = guard.Check(ctx, "b", 1)
	fmt.Println(errors.Is(err, fencing.ErrFull))
	// Output: true
}

// A function deep inside finds the token in the context, and without one nothing is written.
func ExampleFromContext() {
	var guard fencing.Memory
	save := func(ctx context.Context) error {
		token, _ := fencing.FromContext(ctx)
		return guard.Write(ctx, "report", token, func() error { return nil })
	}

	ctx := fencing.NewContext(context.Background(), 34) // as the contexts of leases are made
	fmt.Println(save(ctx))
	fmt.Println(errors.Is(save(context.Background()), fencing.ErrNoToken))
	// Output:
	// <nil>
	// true
}
