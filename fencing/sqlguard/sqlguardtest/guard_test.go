package sqlguardtest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/guardtest"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

const mark = "SELECT token FROM fencing_marks WHERE resource = $1"

// TestContract: by Admit and Check, by a check in a transaction, and by a Write without statements.
func TestContract(t *testing.T) {
	for name, by := range map[string]func(g *sqlguard.Guard, db database) fencing.Guard{
		"Check":   func(g *sqlguard.Guard, _ database) fencing.Guard { return g },
		"CheckTx": func(g *sqlguard.Guard, db database) fencing.Guard { return byTx{g, db} },
		"Write":   func(g *sqlguard.Guard, _ database) fencing.Guard { return byWrite{g} },
	} {
		t.Run(name, func(t *testing.T) {
			// A database for each: where MariaDB has yet to remove the deleted row of a resource, concurrent
			// inserts of the same one can be a deadlock, after which a caller has to try again.
			databases(t, func(t *testing.T, db database) {
				guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard {
					g := db.bounded(t, b)
					db.exec(t, "DELETE FROM fencing_marks")
					return by(g, db)
				})
			})
		})
	}
}

type byWrite struct{ *sqlguard.Guard }

func (g byWrite) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.Write(ctx, resource, t, func(*sqlguard.WriteTx) error { return nil })
}

type byTx struct {
	*sqlguard.Guard
	db database
}

func (g byTx) Check(ctx context.Context, resource string, t fencing.Token) error {
	tx, err := g.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	if err := g.CheckTx(ctx, tx, resource, t); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// waiting runs f and, once it waits for a lock of another transaction, runs release; it returns f's
// error. A waiting statement on SQLite cannot be seen from outside, so f gets a moment instead. A
// lock that doesn't make it wait would still be found, because f would end before release.
func (db database) waiting(t *testing.T, release func(), f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	waiting := map[sqlguard.Dialect]string{
		sqlguard.PostgreSQL: "SELECT count(*) FROM pg_locks WHERE NOT granted",
		sqlguard.MySQL:      "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
	}[db.dialect]
	if waiting != "" {
		require.Eventually(t, func() bool { return db.number(t, waiting) > 0 }, time.Minute, 5*time.Millisecond, "nobody waits for the lock")
	} else {
		select {
		case err := <-done:
			t.Fatalf("did not wait for the lock: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	release()
	return <-done
}

// TestRace: two transactions with tokens 33 and 34, in both orders, that check a mark or update a row,
// new or known before. The first one commits or rolls back. The second waits for its end and is then
// judged by the resulting mark.
func TestRace(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		g, table := db.guard(t), db.accounts(t)
		for _, c := range []struct {
			name          string
			first, second fencing.Token
			commit, stale bool
			mark          int64
		}{
			{"33 then 34", 33, 34, true, false, 34},
			{"34 then 33", 34, 33, true, true, 34},
			{"33 rolled back, 34", 33, 34, false, false, 34},
			{"34 rolled back, 33", 34, 33, false, false, 33},
			{"33 twice", 33, 33, true, false, 33},
		} {
			race := func(t *testing.T, begin func(tx *sql.Tx) error, second func() error) {
				first := db.begin(t, nil)
				require.NoError(t, begin(first))
				end := first.Rollback
				if c.commit {
					end = first.Commit
				}
				err := db.waiting(t, func() { require.NoError(t, end()) }, second)
				if c.stale {
					var stale *fencing.StaleError
					require.ErrorAs(t, err, &stale)
					assert.Equal(t, c.first, stale.Highest)
				} else {
					require.NoError(t, err)
				}
			}
			for _, before := range []fencing.Token{0, 7} {
				t.Run(c.name+" after "+before.String(), func(t *testing.T) {
					ctx, r := t.Context(), c.name+before.String()
					if before != 0 {
						require.NoError(t, g.Admit(ctx, r, before))
					}
					race(t, func(tx *sql.Tx) error { return g.CheckTx(ctx, tx, r, c.first) },
						func() error { return byTx{g, db}.Check(ctx, r, c.second) })
					assert.Equal(t, c.mark, db.number(t, mark, r))
				})
			}
			t.Run(c.name+" on a row", func(t *testing.T) {
				ctx := t.Context()
				db.exec(t, "UPDATE accounts SET fence = NULL, balance = 0 WHERE id = 7")
				race(t, func(tx *sql.Tx) error {
					return table.UpdateTx(ctx, tx, 7, c.first, map[string]any{"balance": int64(c.first)})
				}, func() error {
					return table.Update(ctx, db.DB, 7, c.second, map[string]any{"balance": int64(c.second)})
				})
				assert.Equal(t, c.mark, db.balance(t, 7))
			})
		}
	})
}

// TestIsolation: whatever snapshot a transaction has, a check passes no token below the mark as it is
// now. Above READ COMMITTED, PostgreSQL refuses every token then; its error is returned unchanged, and
// another try gives the verdict.
func TestIsolation(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		if db.dialect == sqlguard.SQLite {
			t.Skip("it has one level; see TestBusy")
		}
		ctx, g := t.Context(), db.guard(t)
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			for _, known := range []bool{false, true} {
				t.Run(level.String(), func(t *testing.T) {
					r, options := level.String(), &sql.TxOptions{Isolation: level}
					if known {
						r += " known"
						require.NoError(t, g.Admit(ctx, r, 7))
					}
					tx := db.begin(t, options)
					if db.dialect != sqlguard.MySQL || level != sql.LevelSerializable { // where it would lock the marks
						_, err := tx.ExecContext(ctx, "SELECT count(*) FROM fencing_marks") // takes the snapshot
						require.NoError(t, err)
					}
					require.NoError(t, g.Admit(ctx, r, 34))
					err := g.CheckTx(ctx, tx, r, 33)
					if db.dialect == sqlguard.MySQL || level == sql.LevelReadCommitted {
						assert.ErrorIs(t, err, fencing.ErrStale)
					} else {
						var pg *pgconn.PgError
						require.ErrorAs(t, err, &pg)
						assert.Equal(t, "40001", pg.Code)
						assert.NotErrorIs(t, err, fencing.ErrStale)
					}
					require.NoError(t, tx.Rollback())

					again := db.begin(t, options)
					assert.ErrorIs(t, g.CheckTx(ctx, again, r, 33), fencing.ErrStale)
					require.NoError(t, again.Rollback())
					again = db.begin(t, options)
					assert.NoError(t, g.CheckTx(ctx, again, r, 34))
					assert.NoError(t, again.Commit())
				})
			}
		}
	})
}

// TestBusy: SQLite's own error is returned, and nothing is changed, while another transaction writes,
// and after it has written since this one has read.
func TestBusy(t *testing.T) {
	db := inSQLiteWith(t, "_pragma=busy_timeout(0)")
	ctx, g := t.Context(), db.guard(t)
	reader, writer := db.begin(t, nil), db.begin(t, nil)
	var n int
	require.NoError(t, reader.QueryRowContext(ctx, "SELECT count(*) FROM fencing_marks").Scan(&n))
	require.NoError(t, g.CheckTx(ctx, writer, "r", 33))
	busy := func(err error) {
		t.Helper()
		var e *sqlite.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, 5, e.Code()&0xff, "SQLITE_BUSY")
		assert.NotErrorIs(t, err, fencing.ErrStale)
	}
	busy(g.Admit(ctx, "r", 34))
	busy(g.CheckTx(ctx, db.begin(t, nil), "r", 34))
	require.NoError(t, writer.Commit())
	busy(g.CheckTx(ctx, reader, "r", 34))
	assert.EqualValues(t, 33, db.number(t, mark, "r"))
}

// TestForeignMarks: the schema refuses values that aren't tokens.
func TestForeignMarks(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		db.guard(t)
		for _, token := range []string{"0", "-1", "9007199254740992", "'x'", "NULL", "1.5"} {
			if db.dialect != sqlguard.SQLite && token == "1.5" {
				continue // it rounds to a token
			}
			_, err := db.ExecContext(t.Context(), "INSERT INTO fencing_marks (resource, token) VALUES ('r', "+token+")")
			assert.Error(t, err, token)
		}
		_, err := db.ExecContext(t.Context(), "INSERT INTO fencing_marks (resource, token) VALUES (NULL, 1)")
		assert.Error(t, err)
	})
}

// TestOneTableForAllConnections: neither a search_path nor a temporary table of
// the same name gives a connection other marks.
func TestOneTableForAllConnections(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		if db.dialect == sqlguard.MySQL {
			t.Skip("see TestOneTableInMySQL")
		}
		ctx := t.Context()
		g, err := sqlguard.New(sqlguard.Config{DB: db.DB, Dialect: db.dialect}) // the default table
		require.NoError(t, err)
		require.NoError(t, g.CreateTable(ctx))
		defaults := map[sqlguard.Dialect]string{sqlguard.PostgreSQL: "public.fencing_marks", sqlguard.SQLite: "main.fencing_marks"}
		t.Cleanup(func() { _, _ = db.Exec("DROP TABLE " + defaults[db.dialect]) })
		require.NoError(t, g.Admit(ctx, "r", 100))
		assert.EqualValues(t, 100, db.number(t, "SELECT token FROM "+defaults[db.dialect]+" WHERE resource = 'r'"))

		shadows := []string{"CREATE TEMP TABLE fencing_marks (resource TEXT PRIMARY KEY, token BIGINT)"}
		if db.dialect == sqlguard.PostgreSQL {
			shadows = append(shadows, "CREATE TABLE fencing_marks (resource TEXT PRIMARY KEY, token BIGINT)") // by search_path
		}
		for _, shadow := range shadows {
			tx := db.begin(t, nil)
			_, err := tx.ExecContext(ctx, shadow)
			require.NoError(t, err)
			assert.ErrorIs(t, g.CheckTx(ctx, tx, "r", 1), fencing.ErrStale, shadow)
			require.NoError(t, tx.Rollback())
		}
	})
}

// TestForgetWaits: a mark is not deleted under a transaction that holds it.
func TestForgetWaits(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		require.NoError(t, g.Admit(ctx, "r", 33))
		tx := db.begin(t, nil)
		require.NoError(t, g.CheckTx(ctx, tx, "r", 34))
		err := db.waiting(t, func() { require.NoError(t, tx.Commit()) }, func() error {
			known, err := g.Forget(ctx, "r")
			assert.True(t, known)
			return err
		})
		require.NoError(t, err)
		assert.EqualValues(t, -1, db.number(t, mark, "r"))
	})
}
