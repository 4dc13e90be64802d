// Command migration brings a database to its latest version. All processes of a service can call it
// when they start: one migrates, the others wait and find nothing to do:
//
//	go run ./migration orders.db redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	_ "modernc.org/sqlite" // the driver

	"github.com/redquorum/redlock/fencing/sqlguard"
	"github.com/redquorum/redlock/instance/redlock"
	"github.com/redquorum/redlock/quorum"
)

var migrations = []string{
	"CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)",
	"ALTER TABLE orders ADD COLUMN fence BIGINT",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 3 {
		log.Fatal("usage: migration DATABASE URL...")
	}
	if err := run(ctx, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string, urls []string) error {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	guard, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: sqlguard.SQLite})
	if err != nil {
		return err
	}
	locks, err := redlock.Open(quorum.Config{}, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	return locks.Do(ctx, "schema", func(ctx context.Context, lease *quorum.Lease) error {
		if err := guard.CreateTable(ctx); err != nil {
			return err
		}
		for version := range migrations {
			if err := migrate(ctx, guard, lease, version); err != nil {
				return err
			}
		}
		return nil
	})
}

// migrate brings the database from a version to the next, in one transaction with the check of the
// token: a process that was paused meanwhile changes nothing any more. It is rolled back when the
// lock is lost.
func migrate(ctx context.Context, guard *sqlguard.Guard, lease *quorum.Lease, version int) error {
	var is int
	err := guard.Write(ctx, "schema", lease.Token(), func(tx *sqlguard.WriteTx) error {
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&is); err != nil || is != version {
			return err // it was done before
		}
		if _, err := tx.ExecContext(ctx, migrations[version]); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprint("PRAGMA user_version = ", version+1))
		return err
	})
	if err == nil && is == version {
		fmt.Println("version", version+1)
	}
	return err
}
