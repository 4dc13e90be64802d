// Command pool works on the rows of a table, in all processes that are started, each on another row:
//
//	go run ./pool orders.db redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/redquorum/redlock/fencing/sqlguard"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 3 {
		log.Fatal("usage: pool DATABASE URL...")
	}
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, urls []string) error {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	// The table has a column fence, with the largest token that the row has seen.
	rows, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.SQLite, Name: "orders"})
	if err != nil {
		return err
	}
	locks, err := redlock.Open(quorum.Config{}, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	w := worker{db, rows, locks}
	for ctx.Err() == nil {
		if err := w.next(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		time.Sleep(rand.N(50 * time.Millisecond))
	}
	return nil
}

type worker struct {
	db    *sql.DB
	rows  *sqlguard.Table
	locks *quorum.Coordinator
}

// next works on an order that is open, unless another worker has it.
func (w worker) next(ctx context.Context) error {
	var id int
	err := w.db.QueryRowContext(ctx, "SELECT id FROM orders WHERE state = 'open' ORDER BY random() LIMIT 1").Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	lease, err := w.locks.TryAcquire(ctx, fmt.Sprint("orders/", id))
	if errors.Is(err, quorum.ErrTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	lease.KeepAlive()
	err = w.work(lease.Within(ctx), lease, id)
	return errors.Join(err, lease.Release(ctx)) // quorum.ErrNotHeld: it went on without the lock
}

func (w worker) work(ctx context.Context, lease *quorum.Lease, id int) error {
	// Show the token before reading: from now on the row refuses earlier workers.
	if err := w.rows.Admit(ctx, w.db, id, lease.Token()); err != nil {
		return err
	}
	var state string
	if err := w.db.QueryRowContext(ctx, "SELECT state FROM orders WHERE id = ?", id).Scan(&state); err != nil || state != "open" {
		return err // done by another worker before this one had the lock
	}
	fmt.Println("begun", id)
	select { // the work itself
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// If a later worker has been admitted the row refuses the token: fencing.ErrStale.
	if err := w.rows.Update(ctx, w.db, id, lease.Token(), map[string]any{"state": "done"}); err != nil {
		return err
	}
	fmt.Println("done", id)
	return nil
}
