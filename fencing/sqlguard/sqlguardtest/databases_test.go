package sqlguardtest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
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

// databases runs a test on SQLite, PostgreSQL and MariaDB, there with both ways to count rows and
// to send arguments.
func databases(t *testing.T, test func(t *testing.T, db database)) {
	t.Run("SQLite", func(t *testing.T) { test(t, inSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, inPostgreSQL(t)) })
	inMariaDBs(t, test)
}

func inMariaDBs(t *testing.T, test func(t *testing.T, db database)) {
	t.Run("MariaDB", func(t *testing.T) { test(t, inMariaDB(t, "")) })
	t.Run("MariaDB, found rows", func(t *testing.T) { test(t, inMariaDB(t, "?clientFoundRows=true&interpolateParams=true")) })
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
	// Without waiting for the disk, which can take long. A connection that waits for its turn can be overtaken.
	return inSQLiteWith(t, "_pragma=synchronous(OFF)&_pragma=busy_timeout(60000)")
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
	postgres.need(t)
	schema := fmt.Sprintf("test_%d", schemas.Add(1))
	admin := open(t, "pgx", postgres.url())
	_, err := admin.Exec("CREATE SCHEMA " + schema)
	require.NoError(t, err)
	return database{open(t, "pgx", postgres.url()+"&search_path="+schema), sqlguard.PostgreSQL, schema}
}

// inMariaDB gives a database of its own.
func inMariaDB(t *testing.T, options string) database {
	t.Helper()
	mariadb.need(t)
	schema := fmt.Sprintf("test_%d", schemas.Add(1))
	admin := open(t, "mysql", mariadb.dsn("mysql"))
	_, err := admin.Exec("CREATE DATABASE " + schema)
	require.NoError(t, err)
	return database{open(t, "mysql", mariadb.dsn(schema)+options), sqlguard.MySQL, schema}
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

// bind gives a query the database's placeholders, and its arguments the order of these.
func (db database) bind(query string, args ...any) (string, []any) {
	switch db.dialect {
	case sqlguard.SQLite:
		return strings.ReplaceAll(query, "$", "?"), args
	case sqlguard.MySQL:
		var order []any
		query = regexp.MustCompile(`\$\d`).ReplaceAllStringFunc(query, func(arg string) string {
			order = append(order, args[arg[1]-'1'])
			return "?"
		})
		return query, order
	}
	return query, args
}

func (db database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	query, args = db.bind(query, args...)
	_, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

// number returns the single number of a query's result, -1 for no row.
func (db database) number(t *testing.T, query string, args ...any) int64 {
	t.Helper()
	var n int64
	query, args = db.bind(query, args...)
	err := db.QueryRowContext(t.Context(), query, args...).Scan(&n)
	if err == sql.ErrNoRows {
		return -1
	}
	require.NoError(t, err)
	return n
}

func (db database) begin(t *testing.T, options *sql.TxOptions) *sql.Tx {
	t.Helper()
	// t.Context ends before the rollback, and would have package sql begin it in a goroutine of its own.
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}
