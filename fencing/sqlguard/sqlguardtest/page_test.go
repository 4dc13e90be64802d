package sqlguardtest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// openMarks makes the guard when the service starts, and its table if it isn't there.
func openMarks(ctx context.Context, db *sql.DB, dialect sqlguard.Dialect) (*sqlguard.Guard, error) {
	guard, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: dialect})
	if err != nil {
		return nil, err
	}
	return guard, guard.CreateTable(ctx)
}

// deposit adds to a balance. The check of the token, what is read and what is written are one
// transaction. fencing.ErrStale means that a later holder has been here.
func deposit(ctx context.Context, guard *sqlguard.Guard, token fencing.Token, amount int) error {
	return guard.Write(ctx, "account/7", token, func(tx *sqlguard.WriteTx) error {
		var balance int
		if err := tx.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 7").Scan(&balance); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = $1 WHERE id = 7", balance+amount)
		return err
	})
}

func TestDepositOnThePage(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		if db.dialect == sqlguard.MySQL {
			t.Skip("its placeholders are others")
		}
		guard, err := openMarks(t.Context(), db.DB, db.dialect)
		require.NoError(t, err)
		db.exec(t, "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)")
		db.exec(t, "INSERT INTO accounts VALUES (7, 100)")
		require.NoError(t, deposit(t.Context(), guard, 34, 1))
		require.ErrorIs(t, deposit(t.Context(), guard, 33, 10), fencing.ErrStale)
		var balance int
		require.NoError(t, db.QueryRow("SELECT balance FROM accounts WHERE id = 7").Scan(&balance))
		require.Equal(t, 101, balance)
	})
}
