package certmagiclock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/caddyserver/certmagic"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/certmagiclock"
	"github.com/redquorum/redlock/quorum/memory"
)

func ExampleStorage() {
	// A server in memory. A program would use redlock.Open.
	servers, err := memory.Open("memory://example")
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, err := quorum.New(quorum.Config{}, servers...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer locks.Close(ctx) //nolint:errcheck // an example
	locker, err := certmagiclock.New(locks, "certmagic/")
	if err != nil {
		fmt.Println(err)
		return
	}
	shared := &certmagic.FileStorage{Path: os.TempDir()} // a folder, bucket or database of all processes
	storage := certmagiclock.Storage(shared, locker)     // for certmagic.Default.Storage, or Config.Storage

	fmt.Println(storage.Lock(ctx, "issue_cert_example.com"))
	ok, err := storage.(certmagic.TryLocker).TryLock(ctx, "issue_cert_example.com")
	fmt.Println(ok, err)
	fmt.Println(storage.Unlock(ctx, "issue_cert_example.com"))
	// Output:
	// <nil>
	// false <nil>
	// <nil>
}
