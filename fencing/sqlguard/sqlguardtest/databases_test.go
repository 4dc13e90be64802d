package sqlguardtest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// database is an empty database for a single test.
type database struct {
	*sql.DB
	dialect sqlguard.Dialect
	schema  string // of the test's tables
}

// databases runs a test on SQLite and on PostgreSQL.
func databases(t *testing.T, test func(t *testing.T, db database)) {
	t.Run("SQLite", func(t *testing.T) { test(t, inSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, inPostgreSQL(t)) })
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func inSQLite(t *testing.T) database {
	t.Helper()
	return inSQLiteWith(t, "_pragma=busy_timeout(10000)")
}

func inSQLiteWith(t *testing.T, options string) database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "marks.db")
	return database{open(t, "sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&"+options), sqlguard.SQLite, "main"}
}

var schemas atomic.Int64

// inPostgreSQL makes a database whose connections see a separate schema.
func inPostgreSQL(t *testing.T) database {
	t.Helper()
	needPostgres(t)
	schema := fmt.Sprintf("test_%d", schemas.Add(1))
	admin := open(t, "pgx", postgres.url())
	_, err := admin.Exec("CREATE SCHEMA " + schema)
	require.NoError(t, err)
	return database{open(t, "pgx", postgres.url()+"&search_path="+schema), sqlguard.PostgreSQL, schema}
}

func (db database) guard(t *testing.T) *sqlguard.Guard {
	t.Helper()
	return db.bounded(t, fencing.Bound{})
}

func (db database) bounded(t *testing.T, b fencing.Bound) *sqlguard.Guard {
	t.Helper()
	g, err := sqlguard.New(sqlguard.Config{DB: db.DB, Dialect: db.dialect, Table: db.schema + ".fencing_marks", Bound: b})
	require.NoError(t, err)
	require.NoError(t, g.CreateTable(t.Context()))
	return g
}

// sql replaces $1, $2 by the database's placeholders.
func (db database) sql(query string) string {
	if db.dialect == sqlguard.SQLite {
		return strings.ReplaceAll(query, "$", "?")
	}
	return query
}

func (db database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), db.sql(query), args...)
	require.NoError(t, err)
}

// number returns the single number of a query's result, -1 for no row.
func (db database) number(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	var n int64
	err := db.QueryRowContext(t.Context(), db.sql(query), args...).Scan(&n)
	if err == sql.ErrNoRows {
		return -1
	}
	require.NoError(t, err)
	return n
}

func (db database) begin(t *testing.T, options *sql.TxOptions) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
