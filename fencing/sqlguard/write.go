package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redquorum/redlock/fencing"
)

// ErrEnded is wrapped by the error of a statement in Guard.Write, and of Write itself, when the
// transaction of the check is over before its commit. Nothing was written after its end. Run Write
// again, in MySQL after a deadlock (1213) for example; if f runs DDL, COMMIT or ROLLBACK, change f.
var ErrEnded = errors.New("sqlguard: the transaction of the check has ended before its commit")

// Write checks t and runs f in one transaction, and commits it if f returns nil. The check comes
// first, and the mark stays locked to the end, as by CheckTx. A token that is refused, an error of
// f, and a panic roll back. The refusals are those of fencing.Guard, and an error of f is returned
// as it is. After a deadlock, a serialization failure or ErrEnded run Write again. The isolation is
// the database's default. f must not keep tx.
//
// A server can end a transaction at an error, and what follows on the connection would then commit
// on its own, unchecked: MySQL at a deadlock (1213), SQLite when a write is interrupted, at OR
// ROLLBACK or a full disk. CREATE, ALTER and TRUNCATE end one in MySQL without an error. So Write
// asks before every statement of f, and before the commit, whether the transaction is still there.
// PostgreSQL runs nothing more in a transaction that failed, and so is asked before the commit only.
//
// It can't undo what the statement that ends the transaction commits: in MySQL all that f wrote
// before its DDL, which was checked. Nor can it see a transaction that f begins with a BEGIN in
// SQL, or what f writes without tx.
func (g *Guard) Write(ctx context.Context, resource string, t fencing.Token, f func(tx *WriteTx) error) error {
	switch {
	case g == nil || g.config.DB == nil:
		return errNotMade
	case f == nil:
		return fmt.Errorf("sqlguard: the function for resource %q is nil; pass the one that writes", resource)
	}
	what := fmt.Sprintf("resource %q", resource)
	tx, err := g.config.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlguard: begin for %s: %w", what, err)
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit; else the error before matters
	if err := g.CheckTx(ctx, tx, resource, t); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT sqlguard_write"); err != nil {
		return fmt.Errorf("sqlguard: savepoint for %s: %w", what, err)
	}
	w := &WriteTx{tx, func() error {
		if g.config.Dialect == PostgreSQL {
			return nil
		}
		return begun(ctx, g.config.Dialect, tx)
	}}
	if err := f(w); err != nil {
		return err
	}
	// A savepoint ends with its transaction. This one is gone even if another transaction has begun.
	//guard:sql-write-is-one  what is written after a check in a database commits with the check, or not at all
	if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT sqlguard_write"); err != nil {
		return fmt.Errorf("%w, for %s: %w", ErrEnded, what, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlguard: commit for %s: %w", what, err)
	}
	return nil
}

// WriteTx is the transaction of Guard.Write. It is a Tx: CheckTx takes it, to check the tokens of
// further resources, and so do Table.UpdateTx and code that is written for a *sql.Tx with these
// methods. When the transaction has ended, every call fails, with ErrEnded or sql.ErrTxDone. It is
// not for several goroutines at once.
type WriteTx struct {
	tx    *sql.Tx
	begun func() error // whatever the context of a statement
}

// alive rolls back if the transaction has ended, so that nothing more can be written by it.
func (w *WriteTx) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // nothing would be sent
		return err
	}
	//guard:sql-write-asks  no statement of a checked write runs after the transaction of the check
	if err := w.begun(); err != nil {
		_ = w.tx.Rollback() // the other error is the one that matters
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return nil
}

// ExecContext executes a statement without rows, as that of a *sql.Tx does.
func (w *WriteTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := w.alive(ctx); err != nil {
		return nil, err
	}
	return w.tx.ExecContext(ctx, query, args...)
}

// QueryContext runs a query, as that of a *sql.Tx does.
func (w *WriteTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := w.alive(ctx); err != nil {
		return nil, err
	}
	return w.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row, as that of a *sql.Tx does. After the end of the
// transaction its error is sql.ErrTxDone.
func (w *WriteTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = w.alive(ctx) // no transaction, no row
	return w.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext fails: what a *sql.Stmt does can't be asked about. It is here for interfaces that
// want it, such as those of sqlc and gorm.
func (*WriteTx) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errors.New("sqlguard: Guard.Write prepares no statements; use ExecContext, or CheckTx and a transaction of your own")
}
