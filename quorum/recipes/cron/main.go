// Command cron runs a job each second, in one of all processes that are started:
//
//	go run ./cron redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
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

	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/once"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, urls []string) error {
	locks, err := redlock.Open(quorum.Config{}, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	job, err := once.New(locks, "report", once.Config{})
	if err != nil {
		return err
	}
	slots, err := job.Slots(ctx, time.Second) // time.Hour: at full hours
	if err != nil {
		return err
	}
	for slot := range slots {
		err := job.Run(ctx, slot, func(ctx context.Context, lease *quorum.Lease) error {
			// ctx ends if the lock is lost. Give what the job changes the slot as an ID: then
			// it can be done again after a crash, without being done twice.
			fmt.Println("report", slot.Format(time.RFC3339), "token", lease.Token())
			return nil
		})
		if err != nil && !errors.Is(err, once.ErrDone) && ctx.Err() == nil {
			log.Print(err) // and the next slot is another try
		}
	}
	return nil
}
