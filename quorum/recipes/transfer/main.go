// Command transfer moves money between random accounts, in all processes that are started:
//
//	go run ./transfer bank.db redis://127.0.0.1:6381 redis://127.0.0.1:6382 redis://127.0.0.1:6383
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
		log.Fatal("usage: transfer DATABASE URL...")
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
	// The table has a column fence, with the largest token that the row has seen.
	rows, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.SQLite, Name: "accounts"})
	if err != nil {
		return err
	}
	locks, err := redlock.Open(quorum.Config{}, urls...)
	if err != nil {
		return err
	}
	defer locks.Close(context.Background())
	b := bank{db, rows, locks}
	for ctx.Err() == nil {
		from, to := rand.IntN(5)+1, rand.IntN(5)+1
		if from == to {
			continue
		}
		if err := b.transfer(ctx, from, to, rand.IntN(100)+1); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
	}
	return nil
}

type bank struct {
	db    *sql.DB
	rows  *sqlguard.Table
	locks *quorum.Coordinator
}

var errNoFunds = errors.New("not enough money")

// transfer locks both accounts at once. Another process may transfer in the other direction: whoever
// is first has both accounts, so neither waits for the other's second one.
func (b bank) transfer(ctx context.Context, from, to, amount int) error {
	keys := []string{fmt.Sprint("accounts/", from), fmt.Sprint("accounts/", to)}
	err := b.locks.DoAll(ctx, keys, func(ctx context.Context, lease *quorum.Lease) error {
		var has, gets int
		// Show the token before reading: from now on both rows refuse earlier holders.
		for id, balance := range map[int]*int{from: &has, to: &gets} {
			if err := b.rows.Admit(ctx, b.db, id, lease.Token()); err != nil {
				return err
			}
			if err := b.db.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = ?", id).Scan(balance); err != nil {
				return err
			}
		}
		if has < amount {
			return errNoFunds
		}
		select { // what takes long between reading and writing, such as another service's consent
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		tx, err := b.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // does nothing after Commit
		// If a later holder of either account has been admitted, its row refuses the token.
		for id, balance := range map[int]int{from: has - amount, to: gets + amount} {
			if err := b.rows.UpdateTx(ctx, tx, id, lease.Token(), map[string]any{"balance": balance}); err != nil {
				return err
			}
		}
		return tx.Commit()
	})
	if errors.Is(err, errNoFunds) {
		return nil
	}
	if err == nil {
		fmt.Println("moved", amount, "from", from, "to", to)
	}
	return err
}
