package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

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
// asks before every statement of f but the first, and before the commit, whether the transaction is still there.
// PostgreSQL runs nothing more in a transaction that failed, and ends one only by a statement that
// says so. It is asked after such a statement, and before the commit.
//
// Write can't undo what the statement that ends the transaction commits: in MySQL all that f wrote
// before its DDL, which was checked. It can't see
//   - what one statement does after it has ended the transaction: the rest of a text with COMMIT in
//     it, or of a procedure of MySQL that handles a deadlock;
//   - a transaction that f begins with a BEGIN in SQL, until Write commits;
//   - what f writes without tx.
func (g *Guard) Write(ctx context.Context, resource string, t fencing.Token, f func(tx *WriteTx) error) error {
	switch {
	case g == nil || g.config.DB == nil:
		return errNotMade
	case f == nil:
		return fmt.Errorf("sqlguard: the function for resource %q is nil; pass the one that writes", resource)
	}
	what, d := fmt.Sprintf("resource %q", resource), g.config.Dialect
	return transact(ctx, g.config.DB, what, func(tx *sql.Tx) error {
		if err := g.CheckTx(ctx, tx, resource, t); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "SAVEPOINT sqlguard_write"); err != nil {
			return fmt.Errorf("sqlguard: savepoint for %s: %w", what, err)
		}
		// Nothing has come between: a check that passed and a savepoint end no transaction.
		w := &WriteTx{tx: tx, begun: func() error { return begun(ctx, d, tx) }, always: d != PostgreSQL}
		if err := f(w); err != nil {
			return err
		}
		// A savepoint ends with its transaction. This one is gone even if another transaction has begun.
		//guard:sql-write-is-one  what is written after a check in a database commits with the check, or not at all
		if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT sqlguard_write"); err != nil {
			return fmt.Errorf("%w, for %s: %w", ErrEnded, what, err)
		}
		return nil
	})
}

// transact runs f in a transaction.
func transact(ctx context.Context, db *sql.DB, what string, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlguard: begin for %s: %w", what, err)
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after the commit; else the error before matters
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlguard: commit for %s: %w", what, err)
	}
	return nil
}

// WriteTx is the transaction of Guard.Write. It is a Tx: CheckTx takes it, to check the tokens of
// further resources (in MySQL before the first read), and so do Table.UpdateTx and code that is
// written for a *sql.Tx with these methods. When the transaction has ended, every call fails, with
// ErrEnded or sql.ErrTxDone. It is not for several goroutines at once: a statement of one could end
// the transaction between the question and the statement of another.
type WriteTx struct {
	tx     *sql.Tx
	begun  func() error // whatever the context of a statement
	always bool         // every statement can end the transaction
	last   bool         // the last one could
}

// endings is in every statement by which a transaction of PostgreSQL ends, and in some others.
var endings = regexp.MustCompile("(?i)commit|end|rollback|abort|prepare")

// alive rolls back if the transaction has ended, so that nothing more can be written by it. Query is
// what comes next.
func (w *WriteTx) alive(ctx context.Context, query string) error {
	if err := ended(ctx); err != nil { // nothing would be sent
		return err
	}
	if w.last {
		if err := w.begun(); err != nil {
			_ = w.tx.Rollback() // the other error is the one that matters
			return fmt.Errorf("%w: %w", ErrEnded, err)
		}
	}
	w.last = w.always || endings.MatchString(query)
	return nil
}

// ExecContext executes a statement without rows, as that of a *sql.Tx does.
func (w *WriteTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := w.alive(ctx, query); err != nil {
		return nil, err
	}
	return w.tx.ExecContext(ctx, query, args...)
}

// QueryContext runs a query, as that of a *sql.Tx does.
func (w *WriteTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := w.alive(ctx, query); err != nil {
		return nil, err
	}
	return w.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row, as that of a *sql.Tx does. After the end of the
// transaction its error is sql.ErrTxDone.
func (w *WriteTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = w.alive(ctx, query) // no transaction, no row
	return w.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext fails: what a *sql.Stmt does can't be asked about. It is here for interfaces that
// want it, such as those of sqlc and gorm.
func (*WriteTx) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errors.New("sqlguard: Guard.Write prepares no statements; use ExecContext, or CheckTx and a transaction of your own")
}
