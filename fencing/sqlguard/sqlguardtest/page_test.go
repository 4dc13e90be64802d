package sqlguardtest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// deposit adds to a balance: the check is the first statement of the transaction that
// reads and writes.
func deposit(ctx context.Context, db *sql.DB, guard *sqlguard.Guard, token fencing.Token, amount int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit
	if err := guard.CheckTx(ctx, tx, "account/7", token); err != nil {
		return err // errors.Is(err, fencing.ErrStale): a later holder has been here
	}
	var balance int
	if err := tx.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 7").Scan(&balance); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = $1 WHERE id = 7", balance+amount); err != nil {
		return err
	}
	return tx.Commit()
}

func TestDepositOnThePage(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		if db.dialect == sqlguard.MySQL {
			t.Skip("its placeholders are others")
		}
		guard := db.guard(t)
		db.exec(t, "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)")
		db.exec(t, "INSERT INTO accounts VALUES (7, 100)")
		require.NoError(t, deposit(t.Context(), db.DB, guard, 34, 1))
		require.ErrorIs(t, deposit(t.Context(), db.DB, guard, 33, 10), fencing.ErrStale)
		var balance int
		require.NoError(t, db.QueryRow("SELECT balance FROM accounts WHERE id = 7").Scan(&balance))
		require.Equal(t, 101, balance)
	})
}
