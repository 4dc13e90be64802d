package sqlguardtest

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// accounts makes a table with a fence column: row 7 with 100, row 8 with 0.
func (db database) accounts(t *testing.T) *sqlguard.Table {
	t.Helper()
	db.exec(t, "CREATE TABLE accounts (id INTEGER NOT NULL, balance INTEGER, owner TEXT, fence BIGINT)")
	db.exec(t, "INSERT INTO accounts VALUES (7, 100, 'a', NULL), (8, 0, 'b', 5)")
	table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: db.dialect, Name: "accounts"})
	require.NoError(t, err)
	return table
}

func (db database) balance(t *testing.T, id int) int64 {
	t.Helper()
	return db.number(t, "SELECT balance FROM accounts WHERE id = $1", id)
}

func TestUpdate(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, table := t.Context(), db.accounts(t)
		require.NoError(t, table.Update(ctx, db.DB, 7, 33, map[string]any{"balance": 110, "owner": "x"}), "NULL is no mark yet")
		require.NoError(t, table.Update(ctx, db.DB, 7, 33, map[string]any{"balance": 111}), "the same holder")
		require.NoError(t, table.Admit(ctx, db.DB, 7, 34))
		assert.EqualValues(t, 111, db.balance(t, 7), "Admit changes the mark only")

		err := table.Update(ctx, db.DB, 7, 33, map[string]any{"balance": 0})
		var stale *fencing.StaleError
		require.ErrorAs(t, err, &stale)
		assert.Equal(t, fencing.StaleError{Resource: "accounts/7", Token: 33, Highest: 34}, *stale)
		assert.EqualValues(t, 111, db.balance(t, 7))
		assert.EqualValues(t, 34, db.number(t, "SELECT fence FROM accounts WHERE id = 7"))
		assert.EqualValues(t, 5, db.number(t, "SELECT fence FROM accounts WHERE id = 8"), "another row has its own mark")

		err = table.Update(ctx, db.DB, 9, 34, map[string]any{"balance": 1})
		assert.ErrorIs(t, err, sql.ErrNoRows)
		assert.NotErrorIs(t, err, fencing.ErrStale)
		assert.ErrorIs(t, table.Update(ctx, db.DB, 7, 0, nil), fencing.ErrNoToken)
		assert.ErrorIs(t, table.Update(ctx, db.DB, 7, fencing.MaxToken+1, nil), fencing.ErrBadToken)
		assert.ErrorIs(t, table.Update(ctx, db.DB, 7, fencing.MaxToken, nil), fencing.ErrAhead)
		table, err = sqlguard.NewTable(sqlguard.TableConfig{Dialect: db.dialect, Name: "accounts", Bound: fencing.Bound{Ahead: fencing.Unbounded}})
		require.NoError(t, err)
		assert.NoError(t, table.Update(ctx, db.DB, 7, fencing.MaxToken, map[string]any{"owner": nil}))
		assert.ErrorIs(t, table.Update(ctx, db.DB, 7, fencing.MaxToken-1, nil), fencing.ErrStale)
	})
}

// TestOwnStatement is the documented pattern with an expression, and Refusal.
func TestOwnStatement(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, table := t.Context(), db.accounts(t)
		add := func(id int, tok fencing.Token) error {
			tx := db.begin(t, nil)
			query, args := db.bind("UPDATE accounts SET balance = balance + $1, fence = $2 WHERE id = $3 AND COALESCE(fence, 0) <= $2", 10, int64(tok), id)
			result, err := tx.ExecContext(ctx, query, args...)
			require.NoError(t, err)
			n, err := result.RowsAffected()
			require.NoError(t, err)
			if n == 0 {
				defer func() { assert.NoError(t, tx.Rollback()) }()
				return table.Refusal(ctx, tx, id, tok)
			}
			return tx.Commit()
		}
		require.NoError(t, add(7, 34))
		assert.ErrorIs(t, add(7, 33), fencing.ErrStale)
		assert.ErrorIs(t, add(9, 33), sql.ErrNoRows)
		assert.EqualValues(t, 110, db.balance(t, 7))

		tx := db.begin(t, nil)
		err := table.Refusal(ctx, tx, 7, 34)
		assert.ErrorContains(t, err, "would pass now")
		assert.NotErrorIs(t, err, fencing.ErrStale)
	})
}

// TestMissingColumn: SQLite reads a quoted name without a column as a text, which must not happen:
// then every row would have the key 'nr'.
func TestMissingColumn(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx := t.Context()
		db.accounts(t)
		for _, c := range []sqlguard.TableConfig{{Key: "nr"}, {Fence: "mark"}} {
			c.Dialect, c.Name = db.dialect, "accounts"
			table, err := sqlguard.NewTable(c)
			require.NoError(t, err)
			key := any(7)
			if c.Key != "" {
				key = c.Key
			}
			err = table.Update(ctx, db.DB, key, 34, map[string]any{"balance": 0})
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.Key+c.Fence, "it names the column")
			assert.NotContains(t, err.Error(), "changed 2 rows")
			assert.NotErrorIs(t, err, sql.ErrNoRows)
			tx := db.begin(t, nil)
			err = table.Refusal(ctx, tx, key, 34)
			assert.NotContains(t, err.Error(), "2 rows")
			assert.NotContains(t, err.Error(), "converting")
			require.NoError(t, tx.Rollback())
		}
		assert.EqualValues(t, 100, db.balance(t, 7))
	})
}
