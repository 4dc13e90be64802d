package sqlguardtest

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// TestOneTableInMySQL: the database that a connection uses doesn't decide which table it is.
func TestOneTableInMySQL(t *testing.T) {
	inMariaDBs(t, func(t *testing.T, db database) {
		ctx, g, other := t.Context(), db.guard(t), inMariaDB(t, "")
		other.guard(t) // a table of the same name
		require.NoError(t, g.Admit(ctx, "r", 100))
		tx := db.begin(t, nil)
		_, err := tx.ExecContext(ctx, "USE "+other.schema)
		require.NoError(t, err)
		assert.ErrorIs(t, g.CheckTx(ctx, tx, "r", 1), fencing.ErrStale)
	})
}

// TestUpdateThatChangesNothing passes, in MySQL too, which counts no row then; and a row that is
// refused doesn't pass for the number of an earlier update.
func TestUpdateThatChangesNothing(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, table := t.Context(), db.accounts(t)
		tx := db.begin(t, nil)
		for range 3 {
			require.NoError(t, table.UpdateTx(ctx, tx, 7, 33, map[string]any{"balance": 110}))
			require.NoError(t, table.UpdateTx(ctx, tx, 7, 33, nil))
		}
		query, args := db.bind("UPDATE accounts SET fence = $1 WHERE id = 7", 34)
		_, err := tx.ExecContext(ctx, query, args...)
		require.NoError(t, err)
		assert.ErrorIs(t, table.UpdateTx(ctx, tx, 7, 33, nil), fencing.ErrStale)
		assert.ErrorIs(t, table.UpdateTx(ctx, tx, 9, 33, nil), sql.ErrNoRows)
		require.NoError(t, table.UpdateTx(ctx, tx, 7, 34, nil))
		require.NoError(t, tx.Commit())
	})
}

// TestRefusalReadsTheRow: the snapshot has an older mark.
func TestRefusalReadsTheRow(t *testing.T) {
	inMariaDBs(t, func(t *testing.T, db database) {
		ctx, table := t.Context(), db.accounts(t)
		tx := db.begin(t, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		_, err := tx.ExecContext(ctx, "SELECT * FROM accounts")
		require.NoError(t, err)
		require.NoError(t, table.Admit(ctx, db.DB, 7, 34))
		assert.ErrorIs(t, table.UpdateTx(ctx, tx, 7, 33, map[string]any{"balance": 0}), fencing.ErrStale)
		require.NoError(t, tx.Rollback())
		assert.EqualValues(t, 100, db.balance(t, 7))
	})
}

// TestNumbersOfOthers: neither a column that counts itself nor a trigger of the table changes how
// an update is judged; and a trigger on the marks, which has no business there, lets nothing pass.
func TestNumbersOfOthers(t *testing.T) {
	inMariaDBs(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		db.exec(t, "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, what TEXT) AUTO_INCREMENT = 5000")
		db.exec(t, "CREATE TABLE items (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INTEGER, fence BIGINT) AUTO_INCREMENT = 7000")
		for _, on := range []string{"BEFORE UPDATE ON items", "AFTER UPDATE ON items"} {
			name := strings.ReplaceAll(on, " ", "_")
			db.exec(t, "CREATE TRIGGER "+name+" "+on+" FOR EACH ROW INSERT INTO audit (what) VALUES ('"+name+"')")
		}
		table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: db.dialect, Name: "items"})
		require.NoError(t, err)
		tx := db.begin(t, nil)
		result, err := tx.ExecContext(ctx, "INSERT INTO items (n) VALUES (1)")
		require.NoError(t, err)
		id, err := result.LastInsertId()
		require.NoError(t, err)
		require.EqualValues(t, 7000, id)
		for _, tok := range []fencing.Token{33, 33, 34} {
			require.NoError(t, g.CheckTx(ctx, tx, "r", tok))
			require.NoError(t, table.UpdateTx(ctx, tx, id, tok, map[string]any{"n": 2}))
		}
		assert.ErrorIs(t, table.UpdateTx(ctx, tx, id, 33, nil), fencing.ErrStale)
		assert.ErrorIs(t, g.CheckTx(ctx, tx, "r", 33), fencing.ErrStale)
		require.NoError(t, tx.Commit())
		assert.Greater(t, db.number(t, "SELECT count(*) FROM audit"), int64(5), "the triggers ran")

		db.exec(t, "CREATE TRIGGER own AFTER INSERT ON fencing_marks FOR EACH ROW INSERT INTO audit (what) VALUES ('own')")
		db.exec(t, "CREATE TRIGGER more AFTER UPDATE ON fencing_marks FOR EACH ROW INSERT INTO audit (what) VALUES ('own')")
		require.ErrorIs(t, g.Check(ctx, "other", 34), sqlguard.ErrCorrupt)
		assert.Error(t, g.Check(ctx, "other", 33))
	})
}

// TestConnections: a transaction that the caller began on a connection is one, too.
func TestConnections(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		do := func(statement string) {
			_, err := conn.ExecContext(ctx, statement)
			require.NoError(t, err)
		}
		begin := "BEGIN"
		if db.dialect == sqlguard.SQLite {
			begin = "BEGIN IMMEDIATE"
		}
		do(begin)
		require.NoError(t, g.CheckTx(ctx, conn, "r", 33))
		err = db.waiting(t, func() { do("COMMIT") }, func() error { return g.Admit(ctx, "r", 32) })
		assert.ErrorIs(t, err, fencing.ErrStale)
		do(begin)
		require.NoError(t, g.CheckTx(ctx, conn, "r", 35))
		do("ROLLBACK")
		assert.NoError(t, g.Check(ctx, "r", 34))

		assert.ErrorContains(t, g.CheckTx(ctx, conn, "new", 36), "no transaction was begun")
		table := db.accounts(t)
		assert.ErrorContains(t, table.UpdateTx(ctx, conn, 7, 36, map[string]any{"balance": 1}), "no transaction was begun")
		assert.EqualValues(t, 100, db.balance(t, 7))
		do(begin) // what asks leaves none
		require.NoError(t, table.UpdateTx(ctx, conn, 7, 36, map[string]any{"balance": 1}))
		require.NoError(t, g.CheckTx(ctx, conn, "new", 35))
		do("ROLLBACK")
		assert.EqualValues(t, -1, db.number(t, mark, "new"))
		assert.EqualValues(t, 100, db.balance(t, 7))
	})
}

// TestConnectionWithoutAutocommit: in MySQL that is always in a transaction. CreateTable refuses it,
// because nothing would commit an Admit.
func TestConnectionWithoutAutocommit(t *testing.T) {
	inMariaDBs(t, func(t *testing.T, db database) {
		ctx, g := t.Context(), db.guard(t)
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		_, err = conn.ExecContext(ctx, "SET autocommit = 0")
		require.NoError(t, err)
		require.NoError(t, g.CheckTx(ctx, conn, "r", 33))
		_, err = conn.ExecContext(ctx, "ROLLBACK")
		require.NoError(t, err)
		assert.EqualValues(t, -1, db.number(t, mark, "r"))
		_, err = conn.ExecContext(ctx, "SET autocommit = 1")
		require.NoError(t, err)

		odd, err := sqlguard.New(sqlguard.Config{DB: open(t, "mysql", mariadb.dsn(db.schema)+"?autocommit=0"), Dialect: db.dialect, Table: db.schema + ".fencing_marks"})
		require.NoError(t, err)
		assert.ErrorContains(t, odd.CreateTable(ctx), "its autocommit is off, want on; while no lease is held, take autocommit=0 out")
	})
}
