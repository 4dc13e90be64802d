package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newGuard(t *testing.T, s *script) *sqlguard.Guard {
	t.Helper()
	g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: sqlguard.PostgreSQL})
	require.NoError(t, err)
	return g
}

// TestAnswers: only a mark equal to the token lets it pass.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       script
		says    string // "": it passes
		corrupt bool
	}{
		{"equal", script{rows: []any{int64(33)}}, "", false},
		{"larger", script{rows: []any{int64(34)}}, "seen token 34", false},
		{"none", script{}, "gave 0 marks", true},
		{"two", script{rows: []any{int64(33), int64(33)}}, "gave 2 marks", true},
		{"lower", script{rows: []any{int64(32)}}, "the last 32", true},
		{"no token", script{rows: []any{int64(1 << 53)}}, "want one that is a token", true},
		{"null", script{rows: []any{nil}}, "gave 1 marks", true},
		{"text", script{rows: []any{"x"}}, "converting", false},
		{"fails", script{err: errors.New("away")}, "away", false},
		{"fails at the end", script{rows: []any{int64(33)}, rowsErr: errors.New("late")}, "late", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := newGuard(t, &c.s).Check(t.Context(), "r", 33)
			if c.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, c.name == "larger", errors.Is(err, fencing.ErrStale))
			assert.Equal(t, c.corrupt, errors.Is(err, sqlguard.ErrCorrupt))
			if c.s.err != nil {
				assert.ErrorIs(t, err, c.s.err)
			}
		})
	}
}

// TestAnswersOfMySQL: the same, for the number that comes with the reply. How many rows were
// affected says nothing.
func TestAnswersOfMySQL(t *testing.T) {
	for _, c := range []struct {
		id      int64
		says    string // "": it passes
		corrupt bool
	}{
		{33, "", false}, {34, "seen token 34", false}, {32, "the last 32", true}, {0, "the last 0", true},
		{1 << 53, "want one that is a token", true}, {-1, "the last -1", true},
	} {
		for affected := range int64(3) {
			s := &script{affected: result{affected, c.id}}
			g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: sqlguard.MySQL, Table: "db.m"})
			require.NoError(t, err)
			if err = g.Check(t.Context(), "r", 33); c.says == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.says)
			}
			assert.Equal(t, c.id == 34, errors.Is(err, fencing.ErrStale))
			assert.Equal(t, c.corrupt, errors.Is(err, sqlguard.ErrCorrupt))
			require.Len(t, s.args[0], 3)
			assert.Equal(t, []any{"72", int64(33), int64(33)}, []any{s.args[0][0].Value, s.args[0][1].Value, s.args[0][2].Value})
		}
	}
	s := &script{affected: rows(1)}
	g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: sqlguard.MySQL, Table: "db.m"})
	require.NoError(t, err)
	assert.ErrorContains(t, g.Check(t.Context(), "r", 33), "no identifier")
	s.err = errors.New("away")
	assert.ErrorIs(t, g.Check(t.Context(), "r", 33), s.err)
}

// TestWhatIsNoTransaction: the check would be over before the write.
func TestWhatIsNoTransaction(t *testing.T) {
	ctx, s := t.Context(), &script{rows: []any{int64(5)}, affected: rows(1)}
	db := openScript(t, s)
	g, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: sqlguard.PostgreSQL})
	require.NoError(t, err)
	table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.PostgreSQL, Name: "a"})
	require.NoError(t, err)
	type pool struct{ *sql.DB }        // as those of sqlx and bun
	type wrapped struct{ sqlguard.Tx } // as gorm's PreparedStmtDB, and the clients of ent
	type transaction struct{ *sql.Tx }
	for says, tx := range map[string]sqlguard.Tx{
		"is a *sql.DB, which has no Commit": db, "*sqlguard_test.pool, which has no Commit": &pool{db}, "sqlguard_test.wrapped, which": wrapped{db},
		"the transaction for": nil, "is nil": (*sql.Tx)(nil), "nil; pass": (*sql.Conn)(nil),
		"that writes": sqlguard.PGX[*pgxRows, pgxTag]((*pgxTx)(nil)), "r": sqlguard.PGX[*pgxRows, pgxTag](nil),
	} {
		assert.ErrorContains(t, g.CheckTx(ctx, tx, "r", 5), says)
		assert.ErrorContains(t, table.UpdateTx(ctx, tx, 7, 5, nil), says)
		assert.ErrorContains(t, table.Refusal(ctx, tx, 7, 5), says)
	}
	assert.Empty(t, s.queries)

	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	assert.NoError(t, g.CheckTx(ctx, transaction{tx}, "r", 5))
	assert.NoError(t, table.UpdateTx(ctx, transaction{tx}, 7, 5, nil))
	assert.Len(t, s.queries, 2)
}

// TestConnectionIsLeftAsItWas: a caller that goes away while a connection of SQLite is asked leaves
// no transaction on it, in which the next Admit would stay without a commit.
func TestConnectionIsLeftAsItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := new(script)
	db := openScript(t, s)
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	g, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: sqlguard.SQLite})
	require.NoError(t, err)
	assert.ErrorContains(t, g.CheckTx(ctx, goingAway{conn, cancel}, "r", 5), "no transaction was begun")
	assert.Equal(t, []string{"BEGIN", "ROLLBACK"}, s.queries)
}

// goingAway is a connection whose caller goes away in its first statement.
type goingAway struct {
	*sql.Conn
	cancel context.CancelFunc
}

func (c goingAway) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.cancel()
	return c.Conn.ExecContext(ctx, query, args...)
}

// TestConnections: a check on a connection asks whether it has a transaction.
func TestConnections(t *testing.T) {
	within, away := errors.New("cannot start a transaction within a transaction"), errors.New("away")
	for _, c := range []struct {
		name    string
		dialect sqlguard.Dialect
		err     error // of the statement with the number
		errAt   int
		says    string // "": it passes
		asks    []string
	}{
		{"begun", sqlguard.PostgreSQL, nil, 0, "", []string{"SAVEPOINT sqlguard_begun", "RELEASE SAVEPOINT sqlguard_begun"}},
		{"not begun", sqlguard.PostgreSQL, away, 1, "SAVEPOINT sqlguard_begun: away", []string{"SAVEPOINT sqlguard_begun"}},
		{"begun", sqlguard.MySQL, nil, 0, "", []string{"SAVEPOINT sqlguard_begun", "RELEASE SAVEPOINT sqlguard_begun"}},
		{"not begun", sqlguard.MySQL, away, 2, "RELEASE SAVEPOINT sqlguard_begun: away", []string{"SAVEPOINT sqlguard_begun", "RELEASE SAVEPOINT sqlguard_begun"}},
		{"begun", sqlguard.SQLite, within, 1, "", []string{"BEGIN"}},
		{"not begun", sqlguard.SQLite, nil, 0, "no transaction was begun", []string{"BEGIN", "ROLLBACK"}},
		{"not ended", sqlguard.SQLite, away, 2, "no transaction was begun", []string{"BEGIN", "ROLLBACK"}},
		{"unknown", sqlguard.SQLite, away, 1, "is unknown: away; each statement", []string{"BEGIN"}},
	} {
		t.Run(c.dialect.String()+" "+c.name, func(t *testing.T) {
			ctx, s := t.Context(), &script{rows: []any{int64(5)}, affected: result{1, 5}, err: c.err, errAt: c.errAt}
			db := openScript(t, s)
			conn, err := db.Conn(ctx)
			require.NoError(t, err)
			defer func() { assert.NoError(t, conn.Close()) }()
			g, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: c.dialect, Table: "d.m"})
			require.NoError(t, err)
			table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: c.dialect, Name: "a"})
			require.NoError(t, err)
			for _, check := range []func(sqlguard.Tx) error{
				func(tx sqlguard.Tx) error { return g.CheckTx(ctx, tx, "r", 5) },
				func(tx sqlguard.Tx) error { return table.UpdateTx(ctx, tx, 7, 5, nil) },
			} {
				s.queries = nil
				err := check(struct{ *sql.Conn }{conn})
				if c.says == "" {
					require.NoError(t, err)
					require.Len(t, s.queries, len(c.asks)+1)
					assert.Equal(t, c.asks, s.queries[:len(c.asks)])
					continue
				}
				require.ErrorContains(t, err, c.says)
				assert.ErrorContains(t, err, "struct { *sql.Conn }")
				if c.err != nil {
					assert.ErrorIs(t, err, c.err)
				}
				assert.Equal(t, c.asks, s.queries)
			}
		})
	}
}

// pgxTx has the methods of pgx.Tx, with pgx's own types for their results.
type pgxTx struct {
	marks    []int64
	affected int64
	err      error
}

type (
	pgxRows struct {
		*pgxTx
		at int
	}
	pgxTag struct{ n int64 }
)

func (tx *pgxTx) Query(context.Context, string, ...any) (*pgxRows, error) {
	return &pgxRows{pgxTx: tx}, tx.err
}

func (tx *pgxTx) Exec(context.Context, string, ...any) (pgxTag, error) {
	return pgxTag{tx.affected}, tx.err
}
func (tx *pgxTx) Commit(context.Context) error   { return nil }
func (tx *pgxTx) Rollback(context.Context) error { return nil }
func (tag pgxTag) RowsAffected() int64           { return tag.n }
func (r *pgxRows) Next() bool                    { r.at++; return r.at <= len(r.marks) }
func (r *pgxRows) Scan(dest ...any) error        { return dest[0].(sql.Scanner).Scan(r.marks[r.at-1]) }
func (r *pgxRows) Err() error                    { return nil }

// TestPGX: what package pgx has is enough, without this module's knowing it.
func TestPGX(t *testing.T) {
	ctx := t.Context()
	g := newGuard(t, &script{})
	tx := &pgxTx{marks: []int64{33}}
	require.NoError(t, g.CheckTx(ctx, sqlguard.PGX(tx), "r", 33))
	tx.marks = []int64{34}
	require.ErrorIs(t, g.CheckTx(ctx, sqlguard.PGX(tx), "r", 33), fencing.ErrStale)
	table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.PostgreSQL, Name: "a"})
	require.NoError(t, err)
	require.ErrorIs(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 33, nil), fencing.ErrStale)
	tx.affected = 1
	require.NoError(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 33, nil))
	tx.err = errors.New("away")
	require.ErrorIs(t, g.CheckTx(ctx, sqlguard.PGX(tx), "r", 33), tx.err)
	require.ErrorIs(t, table.UpdateTx(ctx, sqlguard.PGX(tx), 7, 33, nil), tx.err)

	tx.err = nil
	_, err = sqlguard.PGX(tx).QueryContext(ctx, "SELECT 1") //nolint:rowserrcheck,sqlclosecheck // it never has rows
	assert.ErrorContains(t, err, "pgx's own Query")
	mysql, err := sqlguard.New(sqlguard.Config{DB: openScript(t, &script{}), Dialect: sqlguard.MySQL, Table: "d.m"})
	require.NoError(t, err)
	assert.ErrorContains(t, mysql.CheckTx(ctx, sqlguard.PGX(tx), "r", 33), "set Dialect to PostgreSQL")
}

// TestRefusedBeforeTheDatabase: a bad argument is refused without a statement.
func TestRefusedBeforeTheDatabase(t *testing.T) {
	s := &script{}
	g := newGuard(t, s)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, g.Check(t.Context(), "r", 0), fencing.ErrNoToken)
	assert.ErrorIs(t, g.Check(t.Context(), "", 1), fencing.ErrBadResource)
	assert.ErrorIs(t, g.Check(cancelled, "r", 1), context.Canceled)
	assert.ErrorIs(t, g.Check(t.Context(), "r", fencing.MaxToken), fencing.ErrAhead)
	assert.ErrorContains(t, g.CheckTx(t.Context(), nil, "r", 1), "transaction")
	_, err := g.Forget(t.Context(), "")
	assert.ErrorIs(t, err, fencing.ErrBadResource)
	_, err = g.Forget(cancelled, "r")
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, s.queries)
}

// TestStatements compares the text of the statements; package sqlguardtest tests their effect on
// real databases. Every table has its schema.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		dialect        sqlguard.Dialect
		table          string
		upsert, remove string
	}{
		{sqlguard.PostgreSQL, "",
			`INSERT INTO "public"."fencing_marks" AS held (resource, token) VALUES (pg_catalog.convert_from(pg_catalog.decode($1, 'hex'), 'UTF8'), $2) ON CONFLICT (resource) DO UPDATE SET token = GREATEST(held.token, excluded.token) RETURNING token`,
			`DELETE FROM "public"."fencing_marks" WHERE resource = pg_catalog.convert_from(pg_catalog.decode($1, 'hex'), 'UTF8')`},
		{sqlguard.PostgreSQL, "s.Marks",
			`INSERT INTO "s"."Marks" AS held (resource, token) VALUES (pg_catalog.convert_from(pg_catalog.decode($1, 'hex'), 'UTF8'), $2) ON CONFLICT (resource) DO UPDATE SET token = GREATEST(held.token, excluded.token) RETURNING token`,
			`DELETE FROM "s"."Marks" WHERE resource = pg_catalog.convert_from(pg_catalog.decode($1, 'hex'), 'UTF8')`},
		{sqlguard.SQLite, "m",
			`INSERT INTO [main].[m] AS held (resource, token) VALUES (?1, ?2) ON CONFLICT (resource) DO UPDATE SET token = max(held.token, excluded.token) RETURNING token`,
			`DELETE FROM [main].[m] WHERE resource = ?1 COLLATE BINARY`},
		{sqlguard.MySQL, "db.m",
			"INSERT INTO `db`.`m` (resource, token) VALUES (UNHEX(CONVERT(? USING latin1)), LAST_INSERT_ID(?)) ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, ?))",
			"DELETE FROM `db`.`m` WHERE resource = UNHEX(CONVERT(? USING latin1))"},
	} {
		s := &script{rows: []any{int64(5)}, affected: result{1, 5}}
		g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: c.dialect, Table: c.table})
		require.NoError(t, err)
		require.NoError(t, g.Admit(t.Context(), "r", 5))
		known, err := g.Forget(t.Context(), "r")
		require.NoError(t, err)
		assert.True(t, known)
		assert.Equal(t, []string{c.upsert, c.remove}, s.queries)
	}
}

func TestForgetFails(t *testing.T) {
	for _, s := range []*script{{err: errors.New("away")}, {affected: rows(-1)}} {
		_, err := newGuard(t, s).Forget(t.Context(), "r")
		assert.ErrorContains(t, err, `"r"`)
		if s.err == nil {
			s.err = errNotCounted
		}
		assert.ErrorIs(t, err, s.err)
	}
	known, err := newGuard(t, &script{affected: rows(0)}).Forget(t.Context(), "r")
	require.NoError(t, err)
	assert.False(t, known)
}

// TestNotMade: a guard or table that New or NewTable didn't make returns an error.
func TestNotMade(t *testing.T) {
	ctx := t.Context()
	db := openScript(t, &script{})
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, g := range []*sqlguard.Guard{nil, new(sqlguard.Guard)} {
		_, forget := g.Forget(ctx, "r")
		for _, err := range []error{g.Admit(ctx, "r", 1), g.Check(ctx, "r", 1), g.CheckTx(ctx, tx, "r", 1), g.CreateTable(ctx), forget} {
			assert.ErrorContains(t, err, "make it with New")
		}
	}
	for _, table := range []*sqlguard.Table{nil, new(sqlguard.Table)} {
		for _, err := range []error{table.Admit(ctx, db, 7, 1), table.UpdateTx(ctx, tx, 7, 1, nil), table.Refusal(ctx, tx, 7, 1)} {
			assert.ErrorContains(t, err, "NewTable")
		}
	}
}

func TestConfig(t *testing.T) {
	db := openScript(t, &script{})
	for says, c := range map[string]sqlguard.Config{
		"Config.DB is nil":                       {Dialect: sqlguard.SQLite},
		"dialect is Dialect(0)":                  {DB: db},
		"dialect is Dialect(4)":                  {DB: db, Dialect: 4},
		`"fencing_marks", want database.table`:   {DB: db, Dialect: sqlguard.MySQL},
		`Config.Table is "m", want database.tab`: {DB: db, Dialect: sqlguard.MySQL, Table: "m"},
		"Bound.Ahead is -1s":                     {DB: db, Dialect: sqlguard.SQLite, Bound: fencing.Bound{Ahead: -time.Second}},
		`Config.Table is "a.b.c"`:                {DB: db, Dialect: sqlguard.SQLite, Table: "a.b.c"},
		`Config.Table has the name ""`:           {DB: db, Dialect: sqlguard.SQLite, Table: "a."},
		`Config.Table has the name "a; DROP"`:    {DB: db, Dialect: sqlguard.SQLite, Table: "a; DROP"},
		`Config.Table has the name "a\""`:        {DB: db, Dialect: sqlguard.SQLite, Table: `a"`},
		`Config.Table has the name "1a"`:         {DB: db, Dialect: sqlguard.SQLite, Table: "1a"},
		`Config.Table has the name "é"`:          {DB: db, Dialect: sqlguard.SQLite, Table: "é"},
		"Config.Table has a name of 64 bytes":    {DB: db, Dialect: sqlguard.SQLite, Table: strings.Repeat("x", 64)},
		"Config.Table has a name of 64 bytes, w": {DB: db, Dialect: sqlguard.SQLite, Table: "s." + strings.Repeat("x", 64)},
	} {
		_, err := sqlguard.New(c)
		assert.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, "sqlguard: ")
	}
	for _, table := range []string{"a", "_1", "Order", "s.t", strings.Repeat("x", 63)} {
		_, err := sqlguard.New(sqlguard.Config{DB: db, Dialect: sqlguard.SQLite, Table: table})
		assert.NoError(t, err, table)
	}
	assert.Equal(t, "PostgreSQL SQLite MySQL", fmt.Sprint(sqlguard.PostgreSQL, " ", sqlguard.SQLite, " ", sqlguard.MySQL))
}

func TestSchema(t *testing.T) {
	_, err := sqlguard.Schema(0, "")
	assert.ErrorContains(t, err, "dialect")
	_, err = sqlguard.Schema(sqlguard.SQLite, "a b")
	assert.ErrorContains(t, err, `"a b"`)
	text, err := sqlguard.Schema(sqlguard.PostgreSQL, "s.Marks")
	require.NoError(t, err)
	assert.Contains(t, text, `CREATE TABLE IF NOT EXISTS "s"."Marks" (`)

	text, err = sqlguard.Schema(sqlguard.MySQL, "d.Marks")
	require.NoError(t, err)
	assert.Equal(t, "CREATE TABLE IF NOT EXISTS `d`.`Marks` (\n\tresource VARBINARY(1024) NOT NULL PRIMARY KEY,\n"+
		"\ttoken BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC", text)
	_, err = sqlguard.Schema(sqlguard.MySQL, "")
	assert.ErrorContains(t, err, "want database.table")
}

// TestCreateTable: it believes no table of which the database says something else than is wanted,
// or nothing. Package sqlguardtest asks real databases.
func TestCreateTable(t *testing.T) {
	for _, c := range []struct {
		dialect sqlguard.Dialect
		facts   []any
	}{
		{sqlguard.PostgreSQL, []any{[]string{"kind", "table"}, []string{"persistence", "LOGGED"}, []string{"column resource", "text"},
			[]string{"collation of resource", "deterministic"}, []string{"collation of unique keys", "deterministic"},
			[]string{"column token", "bigint"}}},
		{sqlguard.SQLite, []any{[]string{"column resource", "TEXT"}, []string{"column token", "INTEGER"}, []string{"unique key", "resource"}}},
		{sqlguard.MySQL, []any{[]string{"kind", "BASE TABLE"}, []string{"autocommit", "on"}, []string{"engine", "InnoDB"}, []string{"unique key", "resource"},
			[]string{"column resource", "varbinary(1024)"}, []string{"column token", "bigint"}}},
	} {
		t.Run(c.dialect.String(), func(t *testing.T) {
			s := &script{affected: rows(0), rows: c.facts}
			g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: c.dialect, Table: "s.Marks"})
			require.NoError(t, err)
			require.NoError(t, g.CreateTable(t.Context()))
			text, err := sqlguard.Schema(c.dialect, "s.Marks")
			require.NoError(t, err)
			assert.Equal(t, text, s.queries[0])
			for i := range s.queries[1:] {
				assert.Equal(t, []any{"s", "Marks"}, []any{s.args[i+1][0].Value, s.args[i+1][1].Value})
			}

			for i, fact := range c.facts {
				name := fact.([]string)[0]
				s.rows = slices.Delete(slices.Clone(c.facts), i, i+1)
				assert.ErrorContains(t, g.CreateTable(t.Context()), "s.Marks can't keep marks: its "+name+" is missing, want ")
				s.rows = append(slices.Clone(c.facts), []string{name, "another"})
				assert.ErrorContains(t, g.CreateTable(t.Context()), "s.Marks can't keep marks: its "+name+" is another, want ")
			}
			s.rows = append(slices.Clone(c.facts), []string{"column note", "another"})
			assert.NoError(t, g.CreateTable(t.Context()), "a column of the user's own")

			s.rowsErr = errors.New("away")
			assert.ErrorIs(t, g.CreateTable(t.Context()), s.rowsErr)
			s.rowsErr, s.rows = nil, []any{[]string{"one"}}
			assert.ErrorContains(t, g.CreateTable(t.Context()), "look at table s.Marks")
			s.rows, s.err = c.facts, errors.New("denied")
			for i := range 2 {
				s.queries, s.errAt = nil, i+1
				assert.ErrorIs(t, g.CreateTable(t.Context()), s.err)
			}
		})
	}
}

// TestWriteStatements: before each statement but the first, and before the commit, the database is asked whether
// the transaction of the check is still there. When it isn't, nothing more is sent.
func TestWriteStatements(t *testing.T) {
	ctx, within, away := t.Context(), errors.New("cannot start a transaction within a transaction"), errors.New("away")
	begun := []string{"SAVEPOINT sqlguard_begun", "RELEASE SAVEPOINT sqlguard_begun"}
	for _, c := range []struct {
		name    string
		dialect sqlguard.Dialect
		err     error // of the statement with the number
		errAt   int
		want    error
		ended   string
		sent    []string
	}{
		{"it lives", sqlguard.MySQL, nil, 0, nil, "commit", slices.Concat([]string{"SAVEPOINT sqlguard_write", "own"}, begun, []string{"own", "RELEASE SAVEPOINT sqlguard_write"})},
		{"it lives", sqlguard.PostgreSQL, nil, 0, nil, "commit", []string{"SAVEPOINT sqlguard_write", "own", "own", "RELEASE SAVEPOINT sqlguard_write"}},
		{"it may have ended", sqlguard.PostgreSQL, nil, 0, nil, "commit", slices.Concat([]string{"SAVEPOINT sqlguard_write", "Rollback TO a"}, begun, []string{"own", "own", "RELEASE SAVEPOINT sqlguard_write"})},
		{"it lives", sqlguard.SQLite, within, 4, nil, "commit", []string{"SAVEPOINT sqlguard_write", "own", "BEGIN", "own", "RELEASE SAVEPOINT sqlguard_write"}},
		{"no savepoint", sqlguard.MySQL, away, 2, away, "rollback", []string{"SAVEPOINT sqlguard_write"}},
		{"it has ended", sqlguard.MySQL, away, 5, sqlguard.ErrEnded, "rollback", slices.Concat([]string{"SAVEPOINT sqlguard_write", "own"}, begun)},
		{"it has ended", sqlguard.SQLite, nil, 0, sqlguard.ErrEnded, "rollback", []string{"SAVEPOINT sqlguard_write", "own", "BEGIN", "ROLLBACK"}},
		{"unknown", sqlguard.SQLite, away, 4, away, "rollback", []string{"SAVEPOINT sqlguard_write", "own", "BEGIN"}},
		{"another one has begun", sqlguard.MySQL, away, 7, sqlguard.ErrEnded, "rollback", slices.Concat([]string{"SAVEPOINT sqlguard_write", "own"}, begun, []string{"own", "RELEASE SAVEPOINT sqlguard_write"})},
	} {
		t.Run(c.dialect.String()+" "+c.name, func(t *testing.T) {
			s := &script{rows: []any{int64(5)}, affected: result{1, 5}, err: c.err, errAt: c.errAt}
			g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: c.dialect, Table: "d.m"})
			require.NoError(t, err)
			err = g.Write(ctx, "r", 5, func(tx *sqlguard.WriteTx) error {
				queries := []string{"own", "own"}
				if slices.Contains(c.sent, "Rollback TO a") {
					queries = []string{"Rollback TO a", "own", "own"}
				}
				for _, query := range queries {
					if _, err := tx.ExecContext(ctx, query); err != nil {
						return err
					}
				}
				return nil
			})
			if c.want == nil {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, c.want)
			}
			assert.Equal(t, c.sent, s.queries[1:])
			assert.Equal(t, c.ended, s.ended)
		})
	}
	s := &script{rows: []any{int64(5)}, commit: away, err: away, errAt: 99}
	g := newGuard(t, s)
	nothing := func(*sqlguard.WriteTx) error { return nil }
	assert.ErrorIs(t, g.Write(ctx, "r", 5, nothing), away, "of the commit")
	assert.ErrorIs(t, g.Write(ctx, "r", 4, nothing), fencing.ErrStale)
	assert.Len(t, s.queries, 4, "a stale token's function isn't called")
	assert.ErrorContains(t, new(sqlguard.Guard).Write(ctx, "r", 5, nothing), "New")
	done, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, g.Write(done, "r", 5, nothing), context.Canceled)
}
