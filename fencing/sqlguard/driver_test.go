package sqlguard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// script is a driver that gives a test's answers, and records the queries.
type script struct {
	queries  []string
	args     [][]driver.NamedValue
	rows     []any // of one column; a []string is a row of several
	err      error // of a statement
	errAt    int   // of the one with this number, from 1; 0: of all
	rowsErr  error // after the rows
	affected driver.Result
	commit   error
	ended    string // how the last transaction ended
}

func openScript(t *testing.T, s *script) *sql.DB {
	t.Helper()
	db := sql.OpenDB(s)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return scriptConn{s}, nil }
func (s *script) Driver() driver.Driver                        { return nil }

type scriptConn struct{ *script }

func (scriptConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (scriptConn) Close() error                        { return nil }
func (c scriptConn) Begin() (driver.Tx, error)         { return scriptTx(c), nil }

func (c scriptConn) asked(query string, args []driver.NamedValue) {
	c.queries, c.args = append(c.queries, query), append(c.args, args)
}

func (c scriptConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.asked(query, args)
	if err := c.failure(); err != nil {
		return nil, err
	}
	return &scriptRows{rows: c.rows, err: c.rowsErr}, nil
}

func (c scriptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil { // nothing is sent
		return nil, err
	}
	c.asked(query, args)
	return c.affected, c.failure()
}

func (s *script) failure() error {
	if s.errAt != 0 && s.errAt != len(s.queries) {
		return nil
	}
	return s.err
}

type scriptTx struct{ *script }

func (x scriptTx) Commit() error   { x.ended = "commit"; return x.commit }
func (x scriptTx) Rollback() error { x.ended = "rollback"; return nil }

type scriptRows struct {
	rows []any
	err  error
}

func (r *scriptRows) Columns() []string {
	if len(r.rows) > 0 {
		if row, ok := r.rows[0].([]string); ok {
			return row
		}
	}
	return []string{"token"}
}

func (*scriptRows) Close() error { return nil }

func (r *scriptRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		if r.err != nil {
			return r.err
		}
		return io.EOF
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	several, ok := row.([]string)
	if !ok {
		dest[0] = row
	}
	for i, value := range several {
		dest[i] = value
	}
	return nil
}
