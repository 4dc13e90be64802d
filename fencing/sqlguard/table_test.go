package sqlguard_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// rows is a result that changed this many rows; a negative number means unknown.
type rows int64

func (rows) LastInsertId() (int64, error) { return 0, errors.New("no identifier") }

func (r rows) RowsAffected() (int64, error) {
	if r < 0 {
		return 0, errNotCounted
	}
	return int64(r), nil
}

// result is MySQL's.
type result struct{ affected, id int64 }

func (r result) LastInsertId() (int64, error) { return r.id, nil }
func (r result) RowsAffected() (int64, error) { return r.affected, nil }

var errNotCounted = errors.New("not counted")

// An update that changes one row passes, and is judged by the row if it changes none. MySQL counts the
// rows that changed, or those that were found if the connection says so: there an update that counts
// none is repeated if the row passes.
func TestUpdate(t *testing.T) {
	away := errors.New("away")
	const (
		update      = `UPDATE "s"."accounts" SET "mark" = CAST($1 AS BIGINT), "balance" = $3, "owner" = $4 WHERE "nr" = $2 AND COALESCE("mark", 0) <= CAST($1 AS BIGINT)`
		look        = `SELECT "mark" FROM "s"."accounts" WHERE "nr" = $1`
		mysqlUpdate = "UPDATE `s`.`accounts` SET `mark` = CAST(? AS SIGNED), `balance` = ?, `owner` = ? WHERE `nr` = ? AND COALESCE(`mark`, 0) <= CAST(? AS SIGNED)"
		mysqlLook   = "SELECT `mark` FROM `s`.`accounts` WHERE `nr` = ? FOR UPDATE"
	)
	for _, c := range []struct {
		name    string
		s       script
		want    error  // nil: see says
		says    string // "": it passes
		ended   string
		queries []string // of PostgreSQL; nil: the case isn't one
		mysql   []string // of MySQL; nil: the case isn't one
	}{
		{"one row", script{affected: rows(1)}, nil, "", "commit", []string{update}, []string{mysqlUpdate}},
		{"stale", script{affected: rows(0), rows: []any{int64(34)}}, fencing.ErrStale, "34", "rollback", []string{update, look}, []string{mysqlUpdate, mysqlLook}},
		{"missing", script{affected: rows(0)}, sql.ErrNoRows, "s.accounts/7", "rollback", []string{update, look}, []string{mysqlUpdate, mysqlLook}},
		{"came in between", script{affected: rows(0), rows: []any{int64(3)}}, nil, "would pass now", "rollback", []string{update, look}, nil},
		{"without a mark by now", script{affected: rows(0), rows: []any{nil}}, nil, "would pass now", "rollback", []string{update, look}, nil},
		{"found and not changed", script{affected: rows(0), rows: []any{int64(33)}}, nil, "", "commit", nil, []string{mysqlUpdate, mysqlLook, mysqlUpdate}},
		{"came without a mark", script{affected: rows(0), rows: []any{nil}}, nil, "", "commit", nil, []string{mysqlUpdate, mysqlLook, mysqlUpdate}},
		{"the repetition fails", script{affected: rows(0), rows: []any{int64(33)}, errAt: 3, err: away}, away, "away", "rollback", nil, []string{mysqlUpdate, mysqlLook, mysqlUpdate}},
		{"no token", script{affected: rows(0), rows: []any{int64(1 << 53)}}, sqlguard.ErrCorrupt, "9007199254740992", "rollback", []string{update, look}, []string{mysqlUpdate, mysqlLook}},
		{"two rows", script{affected: rows(2)}, nil, "make column nr unique", "rollback", []string{update}, []string{mysqlUpdate}},
		{"two rows, not changed", script{affected: rows(0), rows: []any{int64(33), int64(33)}}, nil, "make column nr unique", "rollback", nil, []string{mysqlUpdate, mysqlLook}},
		{"not counted", script{affected: rows(-1)}, errNotCounted, "number of rows", "rollback", []string{update}, []string{mysqlUpdate}},
		{"fails", script{affected: rows(1), err: away}, away, "away", "rollback", []string{update}, nil},
		{"commit fails", script{affected: rows(1), commit: away}, away, "commit", "commit", []string{update}, nil},
	} {
		for dialect, queries := range map[sqlguard.Dialect][]string{sqlguard.PostgreSQL: c.queries, sqlguard.MySQL: c.mysql} {
			if queries == nil {
				continue
			}
			t.Run(dialect.String()+" "+c.name, func(t *testing.T) {
				table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: dialect, Name: "s.accounts", Key: "nr", Fence: "mark"})
				require.NoError(t, err)
				s := c.s
				err = table.Update(t.Context(), openScript(t, &s), 7, 33, map[string]any{"owner": "x", "balance": 1})
				if c.says == "" {
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, c.says)
				}
				if c.want != nil {
					assert.ErrorIs(t, err, c.want)
				}
				assert.Equal(t, c.want == fencing.ErrStale, errors.Is(err, fencing.ErrStale))
				assert.Equal(t, c.ended, s.ended)
				assert.Equal(t, queries, s.queries)
				want := []any{int64(33), int64(7), int64(1), "x"}
				if dialect == sqlguard.MySQL {
					want = []any{int64(33), int64(1), "x", int64(7), int64(33)}
				}
				for i, args := range s.args {
					if strings.HasPrefix(queries[i], "UPDATE") {
						var got []any
						for _, arg := range args {
							got = append(got, arg.Value)
						}
						assert.Equal(t, want, got)
					}
				}
			})
		}
	}
}

func TestUpdateRefuses(t *testing.T) {
	s := &script{affected: rows(1)}
	db := openScript(t, s)
	table, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.SQLite, Name: "a"})
	require.NoError(t, err)
	update := func(key any, tok fencing.Token, column string) error {
		return table.Update(t.Context(), db, key, tok, map[string]any{column: 1})
	}
	assert.ErrorContains(t, update(7, 33, "id"), "cannot be set")
	assert.ErrorContains(t, update(7, 33, "Fence"), "cannot be set")
	assert.ErrorContains(t, update(7, 33, "a = 1; --"), `"a = 1; --"`)
	assert.ErrorContains(t, update(nil, 33, "x"), "key")
	for _, column := range []string{"rowid", "ROWID", "oid", "_rowid_"} {
		assert.ErrorContains(t, update(7, 33, column), "another name of the rowid")
	}
	assert.ErrorIs(t, update(7, 0, "x"), fencing.ErrNoToken)
	err = update(7, fencing.MaxToken, "x")
	var ahead *fencing.AheadError
	require.ErrorAs(t, err, &ahead)
	assert.Equal(t, "a/7", ahead.Resource)
	assert.ErrorContains(t, table.Update(t.Context(), nil, 7, 33, nil), "database")
	assert.ErrorContains(t, table.UpdateTx(t.Context(), nil, 7, 33, nil), "transaction")
	assert.ErrorContains(t, table.Refusal(t.Context(), nil, 7, 33), "transaction")
	assert.Empty(t, s.queries)
}

func TestTableConfig(t *testing.T) {
	for says, c := range map[string]sqlguard.TableConfig{
		"dialect":               {Name: "a"},
		"TableConfig.Name has":  {Dialect: sqlguard.SQLite},
		"TableConfig.Key has":   {Dialect: sqlguard.SQLite, Name: "a", Key: "i d"},
		"TableConfig.Fence has": {Dialect: sqlguard.SQLite, Name: "a", Fence: "a.b"},
		"two columns":           {Dialect: sqlguard.SQLite, Name: "a", Key: "x", Fence: "X"},
		"Key has the name \"rowid\", another name": {Dialect: sqlguard.SQLite, Name: "a", Key: "rowid"},
		"Fence has the name \"OID\", another name": {Dialect: sqlguard.SQLite, Name: "a", Fence: "OID"},
		"Bound.Ahead is -1s":                       {Dialect: sqlguard.SQLite, Name: "a", Bound: fencing.Bound{Ahead: -time.Second}},
	} {
		_, err := sqlguard.NewTable(c)
		assert.ErrorContains(t, err, says)
	}
	_, err := sqlguard.NewTable(sqlguard.TableConfig{Dialect: sqlguard.PostgreSQL, Name: "a", Key: "oid"})
	assert.NoError(t, err, "an ordinary name in PostgreSQL")
}
