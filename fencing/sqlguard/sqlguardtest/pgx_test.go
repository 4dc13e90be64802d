package sqlguardtest

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// TestPGX: a transaction of pgx is checked as one of database/sql is.
func TestPGX(t *testing.T) {
	db := inPostgreSQL(t)
	ctx, g, table := t.Context(), db.guard(t), db.accounts(t)
	pool, err := pgxpool.New(ctx, postgres.url()+"&search_path="+db.schema)
	require.NoError(t, err)
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	for name, begin := range map[string]func() (pgx.Tx, error){
		"of a pool":       func() (pgx.Tx, error) { return pool.Begin(ctx) },
		"of a connection": func() (pgx.Tx, error) { return conn.Conn().Begin(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			started := func() pgx.Tx {
				tx, err := begin()
				require.NoError(t, err)
				return tx
			}
			tx := started()
			require.NoError(t, g.CheckTx(ctx, sqlguard.PGX(tx), name, 34))
			require.NoError(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 34, map[string]any{"balance": 1, "owner": name}))
			require.NoError(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 34, nil))
			err := db.waiting(t, func() { require.NoError(t, tx.Commit(ctx)) }, func() error { return g.Admit(ctx, name, 33) })
			require.ErrorIs(t, err, fencing.ErrStale, "it waits for the end of the transaction")

			tx = started()
			require.ErrorIs(t, g.CheckTx(ctx, sqlguard.PGX(tx), name, 33), fencing.ErrStale)
			require.NoError(t, tx.Rollback(ctx))
			tx = started()
			require.ErrorIs(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 33, nil), fencing.ErrStale)
			require.ErrorIs(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 9, 33, nil), sql.ErrNoRows)
			require.NoError(t, tx.Rollback(ctx))
			assert.ErrorIs(t, g.CheckTx(ctx, sqlguard.PGX(tx), name, 35), pgx.ErrTxClosed)
			assert.EqualValues(t, 1, db.balance(t, 7))
		})
	}
}
