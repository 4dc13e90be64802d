package sqlguard

import (
	"context"
	"database/sql"
	"errors"
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
	// digits and underscores and up to 63 bytes each; "" means "fencing_marks". It
	// is quoted in statements, so the case of letters counts. Without a schema it
	// is in "public" in PostgreSQL and in "main" in SQLite: search_path and
	// temporary tables never decide which table has the marks. MySQL needs
	// "database.table".
	Table string

	// Bound limits the tokens that the guard accepts. The zero Bound is right for
	// tokens of this module. It uses the clock of this process, not the
	// database's, see fencing.Bound.
	Bound fencing.Bound
}

// ErrCorrupt is wrapped by the error for a mark that is not a token, which only
// a table that was not made by Schema, or a fence column, can hold. Find out
// what writes there, then Forget the mark or set it by hand. After it, roll back.
var ErrCorrupt = errors.New("sqlguard: the mark is not a token")

// Guard is a fencing.Guard with its marks in a table. It is safe for concurrent
// use and holds no state of its own. Create it with New: every call on the zero
// Guard fails.
type Guard struct {
	config Config
	table  string // quoted
	upsert string
	remove string
}

var _ fencing.Guard = (*Guard)(nil)

// New returns a Guard. An error names the field of c that is invalid. It
// does not contact the database; see CreateTable.
func New(c Config) (*Guard, error) {
	if c.DB == nil {
		return nil, fmt.Errorf("sqlguard: Config.DB is nil; pass the database that keeps the marks")
	}
	if err := c.Bound.Validate(); err != nil {
		return nil, fmt.Errorf("sqlguard: Config.Bound: %w", err)
	}
	d := c.Dialect
	name, table, err := d.marks("Config.Table", c.Table)
	if err != nil {
		return nil, err
	}
	c.Table = name
	// One statement compares, raises and locks, and always returns the resulting
	// mark. With a WHERE that refuses, a second statement would have to read the
	// mark, which in auto-commit might differ from the mark that refused. The price
	// is that a stale token writes the old value again.
	_, resource := d.name("", 1)
	upsert := "INSERT INTO " + table + " AS held (resource, token) VALUES (" + resource + ", " + d.arg(2) + ")" +
		" ON CONFLICT (resource) DO UPDATE SET token = " + d.larger() + "(held.token, excluded.token) RETURNING token"
	if d == MySQL {
		// MySQL has no RETURNING here. Its manual, and MariaDB's, say that the statement's reply has
		// the argument of LAST_INSERT_ID, and so the mark, whether the row was inserted, changed or
		// left as it was, and whatever the connection counts as an affected row. ON DUPLICATE KEY
		// UPDATE reads the row as it is now, and not as the transaction's snapshot has it, and locks
		// it until the end, at every isolation level. A driver or a trigger that hides the number
		// leaves 0, which is no token: nothing passes.
		upsert = "INSERT INTO " + table + " (resource, token) VALUES (" + resource + ", LAST_INSERT_ID(?))" +
			" ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(" + d.larger() + "(token, ?))"
	}
	remove := "DELETE FROM " + table + " WHERE resource = " + resource
	if d == SQLite {
		// CreateTable can't see the column's collation, only that of the key.
		remove += " COLLATE BINARY"
	}
	return &Guard{config: c, table: table, upsert: upsert, remove: remove}, nil
}

// Admit implements fencing.Guard. It commits on its own, and waits for the
// transactions that hold the mark by CheckTx.
func (g *Guard) Admit(ctx context.Context, resource string, t fencing.Token) error {
	if g == nil || g.config.DB == nil {
		return errNotMade
	}
	return g.show(ctx, g.config.DB, resource, t)
}

// Check implements fencing.Guard, and waits as Admit does. It commits on its own, so a write
// that follows is not protected; for writes to this database use Write.
func (g *Guard) Check(ctx context.Context, resource string, t fencing.Token) error {
	return g.Admit(ctx, resource, t)
}

var errNotMade = errors.New("sqlguard: it has no database or table; make it with New or NewTable")

// Forget implements fencing.Guard. It deletes the mark's row and commits on
// its own, after the transactions that hold the mark by CheckTx. The package
// documentation has the statements that do the same by hand.
func (g *Guard) Forget(ctx context.Context, resource string) (bool, error) {
	if g == nil || g.config.DB == nil {
		return false, errNotMade
	}
	if err := fencing.Validate(resource, 1); err != nil {
		return false, err
	}
	if err := ended(ctx); err != nil {
		return false, fmt.Errorf("sqlguard: resource %q not forgotten: %w", resource, err)
	}
	name, _ := g.config.Dialect.name(resource, 1)
	result, err := g.config.DB.ExecContext(ctx, g.remove, name)
	if err != nil {
		return false, fmt.Errorf("sqlguard: forget resource %q: %w", resource, err)
	}
	n, err := affectedRows(result)
	if err != nil {
		return false, fmt.Errorf("sqlguard: forget resource %q: %w", resource, err)
	}
	return n > 0, nil
}

func affectedRows(result sql.Result) (int64, error) {
	n, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("the driver does not tell the number of rows: %w", err)
	}
	return n, nil
}

// CheckTx checks t inside a transaction of the caller's and locks the mark until
// the transaction ends, so that what is written in it is one step with the
// check. The mark is raised when the transaction commits, and not at all if it rolls back.
// CheckTx should be the first statement, and must be in MySQL; for savepoints see the package
// documentation. The refusals are those of fencing.Guard.
//
// After any error, of CheckTx or of what follows, roll back. MySQL at a deadlock and SQLite when a
// write is interrupted end the transaction: a later holder is admitted, and what follows on the *sql.Tx
// commits on its own, unchecked. Write excludes that. A stale token's transaction holds the lock as well.
func (g *Guard) CheckTx(ctx context.Context, tx Tx, resource string, t fencing.Token) error {
	if g == nil || g.upsert == "" {
		return errNotMade
	}
	if err := checkTx(ctx, g.config.Dialect, tx, fmt.Sprintf("resource %q", resource)); err != nil {
		return err
	}
	return g.show(ctx, tx, resource, t)
}

// ended is why the context has ended, nil if it hasn't: of a lease's context, why the lease is over.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (g *Guard) show(ctx context.Context, tx Tx, resource string, t fencing.Token) error {
	if err := g.config.Bound.Check(resource, t); err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return fmt.Errorf("sqlguard: token %d not shown to resource %q: %w", uint64(t), resource, err)
	}
	held, n, err := g.raise(ctx, tx, resource, t)
	switch {
	case err != nil:
		return fmt.Errorf("sqlguard: token %d for resource %q: %w", uint64(t), resource, err)
	//guard:sql-refuses-lower  a guard in a database refuses a token below the largest that it has seen
	case n == 1 && held.Int64 == int64(t):
		return nil
	case n == 1 && held.Int64 > int64(t) && fencing.Token(held.Int64).Valid():
		return &fencing.StaleError{Resource: resource, Token: t, Highest: fencing.Token(held.Int64)}
	}
	return fmt.Errorf("%w: table %s gave %d marks for resource %q, the last %d, want one that is a token from %d up; create the table by Schema",
		ErrCorrupt, g.config.Table, n, resource, held.Int64, uint64(t))
}

// raise raises the mark, and returns it and the number of marks.
func (g *Guard) raise(ctx context.Context, tx Tx, resource string, t fencing.Token) (mark sql.NullInt64, n int, err error) {
	name, _ := g.config.Dialect.name(resource, 1)
	if g.config.Dialect != MySQL {
		return number(ctx, tx, g.upsert, name, int64(t))
	}
	result, err := tx.ExecContext(ctx, g.upsert, name, int64(t), int64(t))
	if err != nil {
		return mark, 0, err
	}
	mark.Int64, err = result.LastInsertId()
	return mark, 1, err
}
