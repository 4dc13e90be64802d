package certmagiclock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/caddyserver/certmagic"

	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/adapters/certmagiclock"
	"github.com/redquorum/redlock/quorum/quorumtest"
)

func ExampleStorage() {
	// A server in memory. A program would use package instance to connect to real ones.
	locks, err := quorum.New(quorum.Config{}, quorumtest.NewServer("A", nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer locks.Close(ctx)                   //nolint:errcheck // an example
	if err := locks.Trust(ctx); err != nil { // only because it has just been set up
		fmt.Println(err)
		return
	}
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
