package sqlguard_test

import (
	"context"
	"errors"
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
	} {
		s := &script{rows: []any{int64(5)}, affected: rows(1)}
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
		"dialect is Dialect(3)":                  {DB: db, Dialect: 3},
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
	assert.Equal(t, "PostgreSQL SQLite", sqlguard.PostgreSQL.String()+" "+sqlguard.SQLite.String())
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
}
