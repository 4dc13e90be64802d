// Command leader does something all the time, in one of all processes that are started:
//
//	go run ./leader redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/election"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, urls []string) error {
	// A shorter TTL: another process leads sooner after the leader was killed.
	cfg := quorum.Config{TTL: 3 * time.Second, Owner: fmt.Sprint("process-", os.Getpid())}
	locks, err := redlock.Open(cfg, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	e, err := election.New(locks, "scheduler", election.Config{})
	if err != nil {
		return err
	}
	return e.Run(ctx, lead)
}

// lead is what the leader does until ctx ends, which is before another process can lead. The term
// is larger than that of every earlier leader: show it to what the leader changes.
func lead(ctx context.Context, term fencing.Token) error {
	for {
		fmt.Println("process", os.Getpid(), "leads, term", term)
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil // what was begun has stopped
		}
	}
}
