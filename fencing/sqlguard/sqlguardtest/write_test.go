package sqlguardtest

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// stopping is the cancel function that the SQL function stop calls, in the middle of its statement.
var stopping context.CancelFunc

func init() {
	sqlite.MustRegisterScalarFunction("stop", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		stopping()
		return int64(0), nil
	})
}

// TestEndedWrite: when the server ends the transaction of the check, nothing more is written, though
// the function looks at no error and a later holder has arrived. The first statement tells whether
// an INSERT before the end stays: it was checked.
func TestEndedWrite(t *testing.T) {
	run := func(query string) func(ctx context.Context, w *sqlguard.WriteTx) {
		return func(ctx context.Context, w *sqlguard.WriteTx) { _, _ = w.ExecContext(ctx, query) }
	}
	read := func(query string) func(ctx context.Context, w *sqlguard.WriteTx) {
		return func(ctx context.Context, w *sqlguard.WriteTx) {
			if rows, err := w.QueryContext(ctx, query); err == nil {
				for rows.Next() {
				}
				_ = rows.Close()
			}
		}
	}
	readOne := func(query string) func(ctx context.Context, w *sqlguard.WriteTx) {
		return func(ctx context.Context, w *sqlguard.WriteTx) {
			var n int
			_ = w.QueryRowContext(ctx, query).Scan(&n)
		}
	}
	ends := map[sqlguard.Dialect]map[string]func(ctx context.Context, w *sqlguard.WriteTx){
		sqlguard.SQLite: {
			"conflict":             run("INSERT OR ROLLBACK INTO u VALUES (1)"),
			"conflict in a query":  read("INSERT OR ROLLBACK INTO u VALUES (1) RETURNING n"),
			"conflict in a row":    readOne("INSERT OR ROLLBACK INTO u VALUES (1) RETURNING n"),
			"trigger":              run("DELETE FROM u"),
			"text":                 run("ROLLBACK"),
			"interrupted":          run("INSERT INTO u WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c) SELECT x + stop() FROM c"),
			"interrupted in a row": readOne("INSERT INTO u WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c) SELECT x + stop() FROM c RETURNING n"),
		},
		sqlguard.MySQL: {
			"DDL":  run("CREATE TABLE other (id INTEGER)"),
			"text": run("ROLLBACK"),
		},
		sqlguard.PostgreSQL: {
			"conflict": run("INSERT INTO u VALUES (1)"),
			"text":     run("ROLLBACK"),
			"commit":   run("commit /* and go on */"),
			"a row":    readOne("ABORT"),
			"rows":     read("END"),
		},
	}
	databases(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		db.exec(t, "CREATE TABLE u (n INTEGER NOT NULL PRIMARY KEY)")
		db.exec(t, "INSERT INTO u VALUES (1)")
		if db.dialect == sqlguard.SQLite {
			db.exec(t, "CREATE TRIGGER undo BEFORE DELETE ON u BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
		}
		for name, end := range ends[db.dialect] {
			t.Run(name, func(t *testing.T) {
				err := g.Write(ctx, name, 33, func(w *sqlguard.WriteTx) error {
					short, cancel := context.WithCancel(ctx)
					defer cancel()
					stopping = cancel
					end(short, w)
					failed := name == "conflict" && db.dialect == sqlguard.PostgreSQL
					if !failed { // where it waits for the transaction
						require.NoError(t, g.Admit(ctx, name, 34), "the transaction has ended")
					}
					return writeAnyway(ctx, t, !failed, w)
				})
				assert.ErrorIs(t, err, sqlguard.ErrEnded)
				assert.EqualValues(t, 1, db.number(t, "SELECT count(*) FROM u"), "nothing was written")
				assert.NoError(t, g.Write(ctx, name, 35, func(w *sqlguard.WriteTx) error {
					_, err := w.ExecContext(ctx, "UPDATE u SET n = 1")
					return err
				}), "the next one has a connection in order")
			})
		}
	})
}

// writeAnyway writes, by each method, and returns nil.
func writeAnyway(ctx context.Context, t *testing.T, ended bool, w *sqlguard.WriteTx) error {
	t.Helper()
	_, err := w.ExecContext(ctx, "INSERT INTO u VALUES (1001)")
	assert.Error(t, err)
	if ended {
		assert.ErrorIs(t, err, sqlguard.ErrEnded)
	}
	_, err = w.QueryContext(ctx, "INSERT INTO u VALUES (1002) RETURNING n") //nolint:sqlclosecheck,rowserrcheck // there are none
	assert.Error(t, err)
	var n int
	assert.Error(t, w.QueryRowContext(ctx, "INSERT INTO u VALUES (1003) RETURNING n").Scan(&n))
	return nil
}

// TestWriteAfterADeadlock: MySQL rolls the whole transaction back. With autocommit off another one
// begins on its own.
func TestWriteAfterADeadlock(t *testing.T) {
	for _, options := range []string{"", "?autocommit=0"} {
		t.Run(options, func(t *testing.T) {
			db := inMariaDB(t, "")
			conn := open(t, "mysql", mariadb.dsn(db.schema)+options)
			ctx, g := t.Context(), db.guard(t)
			odd, err := sqlguard.New(sqlguard.Config{DB: conn, Dialect: sqlguard.MySQL, Table: db.schema + ".fencing_marks"})
			require.NoError(t, err)
			db.exec(t, "CREATE TABLE u (id INTEGER PRIMARY KEY, n INTEGER)")
			db.exec(t, "INSERT INTO u VALUES (1, 0), (2, 0), (3, 0)")
			other := db.begin(t, nil)
			for _, query := range []string{"UPDATE u SET n = 7 WHERE id = 3", "INSERT INTO u SELECT 1000 + seq, 0 FROM seq_1_to_200"} { // heavier
				_, err := other.ExecContext(ctx, query)
				require.NoError(t, err)
			}
			err = odd.Write(ctx, "r", 33, func(w *sqlguard.WriteTx) error {
				_, err := w.ExecContext(ctx, "UPDATE u SET n = 33 WHERE id = 2")
				require.NoError(t, err)
				err = db.waiting(t, func() {
					_, err := w.ExecContext(ctx, "UPDATE u SET n = 33 WHERE id = 3")
					assert.ErrorContains(t, err, "1213")
				}, func() error {
					_, err := other.ExecContext(ctx, "UPDATE u SET n = 7 WHERE id = 2")
					return errors.Join(err, other.Commit())
				})
				require.NoError(t, err)
				require.NoError(t, g.Admit(ctx, "r", 34), "the lock is gone")
				_, _ = w.ExecContext(ctx, "UPDATE u SET n = 33 WHERE id = 1")
				return nil
			})
			assert.ErrorIs(t, err, sqlguard.ErrEnded)
			assert.EqualValues(t, 0, db.number(t, "SELECT n FROM u WHERE id = 1"))
		})
	}
}

// TestWrite: what a function may do, and what undoes it.
func TestWrite(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, g, table := t.Context(), db.guard(t), db.accounts(t)
		deposit := func(tok fencing.Token, then func(w *sqlguard.WriteTx) error) error {
			return g.Write(ctx, "account/7", tok, func(w *sqlguard.WriteTx) error {
				for _, query := range []string{"SAVEPOINT a", "UPDATE accounts SET balance = balance + 1 WHERE id = 7",
					"SAVEPOINT b", "UPDATE accounts SET balance = 0 WHERE id = 7", "ROLLBACK TO SAVEPOINT b", "RELEASE SAVEPOINT a"} {
					if _, err := w.ExecContext(ctx, query); err != nil {
						return err
					}
				}
				return then(w)
			})
		}
		nothing := func(*sqlguard.WriteTx) error { return nil }
		require.NoError(t, deposit(33, nothing))
		require.NoError(t, deposit(34, func(w *sqlguard.WriteTx) error {
			require.NoError(t, g.CheckTx(ctx, w, "account/8", 5))
			require.NoError(t, table.UpdateTx(ctx, w, 8, 6, map[string]any{"balance": 50}))
			var balance int
			require.NoError(t, w.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = 7").Scan(&balance))
			assert.Equal(t, 102, balance)
			done, cancel := context.WithCancel(ctx)
			cancel()
			_, err := w.ExecContext(done, "UPDATE accounts SET balance = 0")
			assert.ErrorIs(t, err, context.Canceled)
			return nil
		}))
		assert.EqualValues(t, 102, db.balance(t, 7))
		assert.EqualValues(t, 50, db.balance(t, 8))
		assert.ErrorIs(t, g.Check(ctx, "account/8", 4), fencing.ErrStale)

		failed := errors.New("not enough")
		assert.Same(t, failed, deposit(35, func(*sqlguard.WriteTx) error { return failed }))
		assert.PanicsWithValue(t, "boom", func() { _ = deposit(35, func(*sqlguard.WriteTx) error { panic("boom") }) })
		assert.NoError(t, g.Check(ctx, "account/7", 34), "they raised no mark")
		assert.ErrorIs(t, deposit(33, nothing), fencing.ErrStale)
		ended, cancel := context.WithCancel(ctx)
		assert.ErrorIs(t, g.Write(ended, "account/7", 36, func(w *sqlguard.WriteTx) error {
			_, err := w.ExecContext(ctx, "UPDATE accounts SET balance = 0 WHERE id = 7")
			cancel()
			return err
		}), context.Canceled)
		assert.EqualValues(t, 102, db.balance(t, 7))
		assert.ErrorContains(t, g.Write(ctx, "account/7", 36, nil), "nil")
		assert.NoError(t, g.Admit(ctx, "account/7", 34), "no transaction is left open")

		// An error that ends no transaction doesn't end the write.
		db.exec(t, "CREATE TABLE u (n INTEGER NOT NULL PRIMARY KEY)")
		err := g.Write(ctx, "u", 33, func(w *sqlguard.WriteTx) error {
			_, err := w.ExecContext(ctx, "INSERT INTO u VALUES (1)")
			require.NoError(t, err)
			_, err = w.ExecContext(ctx, "INSERT INTO u VALUES (1)")
			require.Error(t, err)
			_, err = w.PrepareContext(ctx, "INSERT INTO u VALUES (2)") //nolint:sqlclosecheck // there is none
			require.ErrorContains(t, err, "no statements")
			return nil
		})
		if db.dialect == sqlguard.PostgreSQL {
			assert.ErrorIs(t, err, sqlguard.ErrEnded, "here it does")
		} else {
			assert.NoError(t, err)
			assert.EqualValues(t, 1, db.number(t, "SELECT count(*) FROM u"))
		}
	})
}
