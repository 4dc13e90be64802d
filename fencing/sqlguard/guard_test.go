package sqlguard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
		name string
		s    script
		says string // "": it passes
	}{
		{"equal", script{rows: []any{int64(33)}}, ""},
		{"larger", script{rows: []any{int64(34)}}, "seen token 34"},
		{"none", script{}, "gave 0 marks"},
		{"two", script{rows: []any{int64(33), int64(33)}}, "gave 2 marks"},
		{"lower", script{rows: []any{int64(32)}}, "the last 32"},
		{"no token", script{rows: []any{int64(1 << 53)}}, "want one that is a token"},
		{"null", script{rows: []any{nil}}, "gave 1 marks"},
		{"text", script{rows: []any{"x"}}, "converting"},
		{"fails", script{err: errors.New("away")}, "away"},
		{"fails at the end", script{rows: []any{int64(33)}, rowsErr: errors.New("late")}, "late"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := newGuard(t, &c.s).Check(t.Context(), "r", 33)
			if c.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, c.name == "larger", errors.Is(err, fencing.ErrStale))
			if c.s.err != nil {
				assert.ErrorIs(t, err, c.s.err)
			}
		})
	}
}

// TestRefusedBeforeTheDatabase: what is refused by itself sends no statement.
func TestRefusedBeforeTheDatabase(t *testing.T) {
	s := &script{}
	g := newGuard(t, s)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, g.Check(t.Context(), "r", 0), fencing.ErrNoToken)
	assert.ErrorIs(t, g.Check(t.Context(), "", 1), fencing.ErrBadResource)
	assert.ErrorIs(t, g.Check(cancelled, "r", 1), context.Canceled)
	assert.ErrorContains(t, g.CheckTx(t.Context(), nil, "r", 1), "transaction")
	assert.Empty(t, s.queries)
}

func TestConfig(t *testing.T) {
	db := openScript(t, &script{})
	for says, c := range map[string]sqlguard.Config{
		"Config.DB is nil":                       {Dialect: sqlguard.SQLite},
		"dialect is Dialect(0)":                  {DB: db},
		"dialect is Dialect(3)":                  {DB: db, Dialect: 3},
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
