package sqlguard

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/redquorum/redlock/fencing"
)

// Config says where a Guard keeps its marks.
type Config struct {
	// DB is the database, on its primary. Required. The guard does not close it.
	DB *sql.DB

	// Dialect is the database's. Required.
	Dialect Dialect

	// Table is the table of marks, as "table" or "schema.table", in letters,
	// digits and underscores and up to 63 bytes each; "" means DefaultTable. It
	// is quoted in statements, so the case of letters counts.
	Table string
}

// Guard is a fencing.Guard with its marks in a table. It is safe for concurrent
// use and holds no state of its own.
type Guard struct {
	config Config
	schema string
	upsert string
}

var _ fencing.Guard = (*Guard)(nil)

// New gives a Guard, or an error that names the field of c that is wrong. It
// does not talk to the database; see CreateTable.
func New(c Config) (*Guard, error) {
	if c.DB == nil {
		return nil, fmt.Errorf("sqlguard: Config.DB is nil; pass the database that keeps the marks")
	}
	if c.Table == "" {
		c.Table = DefaultTable
	}
	table, err := quoteTable("Config.Table", c.Table)
	if err != nil {
		return nil, err
	}
	schema, err := Schema(c.Dialect, c.Table)
	if err != nil {
		return nil, err
	}
	d := c.Dialect
	// One statement compares, raises and locks, and always gives the mark as it
	// then is. With a WHERE that refuses, the mark would have to be read
	// by a second one, which in auto-commit might find another mark than the
	// one that refused. Writing the old value again for a stale token is the price.
	upsert := "INSERT INTO " + table + " AS held (resource, token) VALUES (" + d.arg(1) + ", " + d.arg(2) + ")" +
		" ON CONFLICT (resource) DO UPDATE SET token = " + d.larger() + "(held.token, excluded.token) RETURNING token"
	return &Guard{config: c, schema: schema, upsert: upsert}, nil
}

// Admit implements fencing.Guard. It commits by itself, and waits for the
// transactions that hold the mark by CheckTx.
func (g *Guard) Admit(ctx context.Context, resource string, t fencing.Token) error {
	return g.show(ctx, g.config.DB, resource, t)
}

// Check implements fencing.Guard, and waits as Admit does. It commits by itself, so a write
// that follows is not protected; for writes to this database use CheckTx.
func (g *Guard) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.show(ctx, g.config.DB, resource, t)
}

// CheckTx checks t inside a transaction of the caller's and locks the mark until
// the transaction ends, so that what is written in it is one step with the
// check. It should be the first statement. The refusals are those of
// fencing.Guard; after any error, roll back: PostgreSQL runs nothing more in a
// transaction that failed, and a stale token's holds the lock as well. The mark
// is raised when the transaction commits, and not at all if it rolls back.
func (g *Guard) CheckTx(ctx context.Context, tx *sql.Tx, resource string, t fencing.Token) error {
	if tx == nil {
		return fmt.Errorf("sqlguard: the transaction for resource %q is nil; pass the one that writes", resource)
	}
	return g.show(ctx, tx, resource, t)
}

// queryer is what *sql.DB and *sql.Tx share.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (g *Guard) show(ctx context.Context, q queryer, resource string, t fencing.Token) error {
	if err := fencing.Validate(resource, t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlguard: token %d not shown to resource %q: %w", uint64(t), resource, err)
	}
	held, n, err := number(ctx, q, g.upsert, resource, int64(t))
	switch {
	case err != nil:
		return fmt.Errorf("sqlguard: token %d for resource %q: %w", uint64(t), resource, err)
	case n == 1 && held.Int64 == int64(t):
		return nil
	case n == 1 && held.Int64 > int64(t) && fencing.Token(held.Int64).Valid():
		return &fencing.StaleError{Resource: resource, Token: t, Highest: fencing.Token(held.Int64)}
	}
	return fmt.Errorf("sqlguard: table %s gave %d marks for resource %q, the last %d, want one that is a token from %d up; create the table by Schema",
		g.config.Table, n, resource, held.Int64, uint64(t))
}

// number runs a query that gives rows of one number, and gives the last of them
// and how many there were. It reads to the end, as some drivers run a
// statement that returns rows only as far as it is read.
func number(ctx context.Context, q queryer, query string, args ...any) (last sql.NullInt64, n int, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return last, 0, err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		if err := rows.Scan(&last); err != nil {
			return last, n, err
		}
		n++
	}
	return last, n, rows.Err()
}
