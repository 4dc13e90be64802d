package sqlguardtest

import (
	"context"
	"database/sql"
	"sync"
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
	databases(t, func(t *testing.T, db database) {
		for name, by := range map[string]func(g *sqlguard.Guard) fencing.Guard{
			"Check":   func(g *sqlguard.Guard) fencing.Guard { return g },
			"CheckTx": func(g *sqlguard.Guard) fencing.Guard { return byTx{g, db} },
			"Write":   func(g *sqlguard.Guard) fencing.Guard { return byWrite{g} },
		} {
			t.Run(name, func(t *testing.T) {
				guardtest.Run(t, func(t *testing.T, b fencing.Bound) fencing.Guard {
					g := db.bounded(t, b)
					db.exec(t, "DELETE FROM fencing_marks")
					return by(g)
				})
			})
		}
	})
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
		require.Eventually(t, func() bool { return db.number(t, waiting) > 0 }, 10*time.Second, 5*time.Millisecond, "nobody waits for the lock")
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

// TestRace: two transactions with tokens 33 and 34, in both orders, on a new mark and on an
// existing one. The first one commits or rolls back. The second waits for its end and is then
// judged by the resulting mark.
func TestRace(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		g := db.guard(t)
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
			for _, before := range []fencing.Token{0, 7} {
				t.Run(c.name+" after "+before.String(), func(t *testing.T) {
					ctx, r := t.Context(), c.name+before.String()
					if before != 0 {
						require.NoError(t, g.Admit(ctx, r, before))
					}
					first := db.begin(t, nil)
					require.NoError(t, g.CheckTx(ctx, first, r, c.first))
					end := first.Rollback
					if c.commit {
						end = first.Commit
					}
					err := db.waiting(t, func() { require.NoError(t, end()) }, func() error {
						return byTx{g, db}.Check(ctx, r, c.second)
					})
					if c.stale {
						var stale *fencing.StaleError
						require.ErrorAs(t, err, &stale)
						assert.Equal(t, fencing.StaleError{Resource: r, Token: c.second, Highest: c.first}, *stale)
					} else {
						require.NoError(t, err)
					}
					assert.Equal(t, c.mark, db.number(t, mark, r))
				})
			}
		}
	})
}

// TestConcurrentTransactions: holders of rising tokens write the token in one transaction with the
// check; the written value never goes back.
func TestConcurrentTransactions(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		db.exec(t, "CREATE TABLE written (position INTEGER NOT NULL, token BIGINT NOT NULL)")
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 15 {
					tok := fencing.Token(1 + 4*i + w)
					tx, err := db.BeginTx(ctx, nil)
					if !assert.NoError(t, err) {
						return
					}
					if err := g.CheckTx(ctx, tx, "r", tok); err != nil {
						assert.ErrorIs(t, err, fencing.ErrStale)
						assert.NoError(t, tx.Rollback())
						continue
					}
					query, args := db.bind("INSERT INTO written SELECT count(*), $1 FROM written", int64(tok))
					_, err = tx.ExecContext(ctx, query, args...)
					assert.NoError(t, err)
					assert.NoError(t, tx.Commit())
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 60, db.number(t, "SELECT max(token) FROM written"))
		assert.Zero(t, db.number(t, "SELECT count(*) FROM written a JOIN written b ON a.position < b.position AND a.token > b.token"))
		assert.Zero(t, db.number(t, "SELECT count(*) - count(DISTINCT position) FROM written"))
	})
}

// TestIsolation: above READ COMMITTED, PostgreSQL refuses a mark that was raised since the
// snapshot; its error is returned unchanged, and another try gives the verdict.
func TestIsolation(t *testing.T) {
	db := inPostgreSQL(t)
	ctx, g := t.Context(), db.guard(t)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, known := range []bool{false, true} {
			t.Run(level.String(), func(t *testing.T) {
				r := level.String()
				if known {
					r += " known"
					require.NoError(t, g.Admit(ctx, r, 7))
				}
				options := &sql.TxOptions{Isolation: level}
				tx := db.begin(t, options)
				_, err := tx.ExecContext(ctx, "SELECT count(*) FROM fencing_marks") // takes the snapshot
				require.NoError(t, err)
				require.NoError(t, g.Admit(ctx, r, 34))
				err = g.CheckTx(ctx, tx, r, 33)
				if level == sql.LevelReadCommitted {
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
}

// TestGivingUp: a caller that waits for a lock stops with its context. Its statement is in flight
// then, so the mark may or may not be raised; either way the token passes when it is shown again.
func TestGivingUp(t *testing.T) {
	db := inPostgreSQL(t)
	g := db.guard(t)
	tx := db.begin(t, nil)
	require.NoError(t, g.CheckTx(t.Context(), tx, "r", 33))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.waiting(t, cancel, func() error { return g.Admit(ctx, "r", 34) })
	assert.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, fencing.ErrStale)
	require.NoError(t, tx.Commit())
	assert.Contains(t, []int64{33, 34}, db.number(t, mark, "r"))
	assert.NoError(t, g.Admit(t.Context(), "r", 34))
	assert.ErrorIs(t, g.Check(t.Context(), "r", 33), fencing.ErrStale)
}

// TestBusy: SQLite's own error is returned, and nothing is changed.
func TestBusy(t *testing.T) {
	db := inSQLiteWith(t, "_pragma=busy_timeout(0)")
	ctx, g := t.Context(), db.guard(t)
	writer := db.begin(t, nil)
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
	assert.EqualValues(t, 33, db.number(t, mark, "r"))
}

// TestOldSnapshot: a transaction that has read before the check cannot continue after another one
// has written.
func TestOldSnapshot(t *testing.T) {
	db := inSQLite(t)
	ctx, g := t.Context(), db.guard(t)
	tx := db.begin(t, nil)
	var n int
	require.NoError(t, tx.QueryRowContext(ctx, "SELECT count(*) FROM fencing_marks").Scan(&n))
	require.NoError(t, g.Admit(ctx, "r", 34))
	err := g.CheckTx(ctx, tx, "r", 33)
	var e *sqlite.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 5, e.Code()&0xff)
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

// TestSavepoint shows the documented mistake and its fix: a rollback to a savepoint undoes a check,
// and a second check notices.
func TestSavepoint(t *testing.T) {
	db := inPostgreSQL(t) // SQLite has one writer: no other can get in between
	ctx, g := t.Context(), db.guard(t)
	begin := func() *sql.Tx {
		tx := db.begin(t, nil)
		_, err := tx.ExecContext(ctx, "SAVEPOINT s")
		require.NoError(t, err)
		require.NoError(t, g.CheckTx(ctx, tx, "r", 11))
		_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT s")
		require.NoError(t, err)
		return tx
	}
	tx := begin()
	require.NoError(t, g.Admit(ctx, "r", 12), "the lock is gone")
	assert.ErrorIs(t, g.CheckTx(ctx, tx, "r", 11), fencing.ErrStale)
	require.NoError(t, tx.Rollback())

	_, err := g.Forget(ctx, "r")
	require.NoError(t, err)
	tx = begin()
	require.NoError(t, g.CheckTx(ctx, tx, "r", 11), "the lock is back")
	err = db.waiting(t, func() { require.NoError(t, tx.Commit()) }, func() error { return g.Admit(ctx, "r", 12) })
	require.NoError(t, err)
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

// TestDocumentedRepair: the statements of the package documentation.
func TestDocumentedRepair(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		table := db.schema + ".fencing_marks"
		for _, repair := range []string{
			"UPDATE " + table + " SET token = 34 WHERE resource = 'account/7'",
			"DELETE FROM " + table + " WHERE resource = 'account/7'",
		} {
			db.exec(t, "DELETE FROM "+table)
			db.exec(t, "INSERT INTO "+table+" VALUES ('account/7', 9007199254740991)")
			require.ErrorIs(t, g.Admit(ctx, "account/7", 34), fencing.ErrStale)
			db.exec(t, repair)
			assert.NoError(t, g.Admit(ctx, "account/7", 34))
		}
	})
}
