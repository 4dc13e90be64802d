package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
			assert.Equal(t, []any{[]byte("r"), int64(33), int64(33)}, []any{s.args[0][0].Value, s.args[0][1].Value, s.args[0][2].Value})
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
	for says, tx := range map[string]sqlguard.Tx{
		"is a *sql.DB, which commits": db, "the transaction for": nil, "is nil": (*sql.Tx)(nil), "nil; pass": (*sql.Conn)(nil),
		"that writes": sqlguard.PGX[*pgxRows, pgxTag]((*pgxTx)(nil)), "r": sqlguard.PGX[*pgxRows, pgxTag](nil),
	} {
		assert.ErrorContains(t, g.CheckTx(ctx, tx, "r", 5), says)
		assert.ErrorContains(t, table.UpdateTx(ctx, tx, 7, 5, nil), says)
		assert.ErrorContains(t, table.Refusal(ctx, tx, 7, 5), says)
	}
	assert.Empty(t, s.queries)

	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	assert.NoError(t, g.CheckTx(ctx, conn, "r", 5), "on which the caller began a transaction")
	assert.NoError(t, table.UpdateTx(ctx, conn, 7, 5, nil))
}

// pgxTx has the methods of pgx.Tx, with pgx's own types for their results.
type pgxTx struct {
	marks    []int64
	affected int64
	err      error
	closed   int
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
func (r *pgxRows) Close()                        { r.closed++ }

// TestPGX: what package pgx has is enough, without this module's knowing it.
func TestPGX(t *testing.T) {
	ctx := t.Context()
	g := newGuard(t, &script{})
	tx := &pgxTx{marks: []int64{33}}
	require.NoError(t, g.CheckTx(ctx, sqlguard.PGX(tx), "r", 33))
	tx.marks = []int64{34}
	require.ErrorIs(t, g.CheckTx(ctx, sqlguard.PGX(tx), "r", 33), fencing.ErrStale)
	assert.Equal(t, 2, tx.closed)

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
			`INSERT INTO "public"."fencing_marks" AS held (resource, token) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET token = GREATEST(held.token, excluded.token) RETURNING token`,
			`DELETE FROM "public"."fencing_marks" WHERE resource = $1`},
		{sqlguard.PostgreSQL, "s.Marks",
			`INSERT INTO "s"."Marks" AS held (resource, token) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET token = GREATEST(held.token, excluded.token) RETURNING token`,
			`DELETE FROM "s"."Marks" WHERE resource = $1`},
		{sqlguard.SQLite, "m",
			`INSERT INTO [main].[m] AS held (resource, token) VALUES (?1, ?2) ON CONFLICT (resource) DO UPDATE SET token = max(held.token, excluded.token) RETURNING token`,
			`DELETE FROM [main].[m] WHERE resource = ?1`},
		{sqlguard.MySQL, "db.m",
			"INSERT INTO `db`.`m` (resource, token) VALUES (?, LAST_INSERT_ID(?)) ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(GREATEST(token, ?))",
			"DELETE FROM `db`.`m` WHERE resource = ?"},
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
		_, forget := table.Forget(ctx, db, 7)
		for _, err := range []error{table.Admit(ctx, db, 7, 1), table.UpdateTx(ctx, tx, 7, 1, nil), table.Refusal(ctx, tx, 7, 1), forget} {
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
		"Config.Table has an empty name":         {DB: db, Dialect: sqlguard.SQLite, Table: "a."},
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

	s := &script{affected: rows(0)}
	require.NoError(t, newGuard(t, s).CreateTable(t.Context()))
	text, err = sqlguard.Schema(sqlguard.PostgreSQL, "")
	require.NoError(t, err)
	assert.Equal(t, []string{text}, s.queries)
	s.err = errors.New("denied")
	assert.ErrorIs(t, newGuard(t, s).CreateTable(t.Context()), s.err)

	text, err = sqlguard.Schema(sqlguard.MySQL, "d.Marks")
	require.NoError(t, err)
	assert.Equal(t, "CREATE TABLE IF NOT EXISTS `d`.`Marks` (\n\tresource VARBINARY(1024) NOT NULL PRIMARY KEY,\n"+
		"\ttoken BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC", text)
	_, err = sqlguard.Schema(sqlguard.MySQL, "")
	assert.ErrorContains(t, err, "want database.table")
	s = &script{affected: rows(0)}
	g, err := sqlguard.New(sqlguard.Config{DB: openScript(t, s), Dialect: sqlguard.MySQL, Table: "d.Marks"})
	require.NoError(t, err)
	assert.ErrorContains(t, g.CreateTable(t.Context()), "its engine is not InnoDB")
	require.Len(t, s.queries, 2)
	assert.Equal(t, text, s.queries[0])
	s.rows = []any{int64(1)}
	assert.NoError(t, g.CreateTable(t.Context()))
	s.rowsErr = errors.New("away")
	assert.ErrorIs(t, g.CreateTable(t.Context()), s.rowsErr)
}
