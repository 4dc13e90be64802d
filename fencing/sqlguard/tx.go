package sqlguard

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Tx is a transaction of the caller's: a *sql.Tx, or what has its methods, such as those of sqlx
// and gorm (Statement.ConnPool); of bun's, pass the *sql.Tx in it. PGX makes one of pgx's.
//
// It may also be a *sql.Conn, or what embeds one, on which the caller began a transaction, with
// BEGIN IMMEDIATE for example. Guard.CheckTx and Table.UpdateTx ask the database whether there is
// one.
//
// What has neither the Commit and Rollback of a *sql.Tx nor the Raw of a *sql.Conn is refused: a
// *sql.DB and the pools of sqlx, bun, gorm and ent commit after each statement, so that nothing
// keeps a later holder out between the check and the write.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// transaction has what ends one. No pool does.
type transaction interface {
	Tx
	Commit() error
	Rollback() error
}

// connection is a *sql.Conn, or what embeds one. A *sql.DB has no Raw.
type connection interface {
	Tx
	Raw(f func(driverConn any) error) error
}

// checkTx refuses what is no transaction, and a connection on which none was begun. What says for
// what it is.
func checkTx(ctx context.Context, d Dialect, tx Tx, what string) error {
	if v := reflect.ValueOf(tx); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("sqlguard: the transaction for %s is nil; pass the one that writes", what)
	}
	switch tx.(type) {
	case transaction, connection, *otherTx, *WriteTx:
	default:
		return fmt.Errorf("sqlguard: the transaction for %s is a %T, which has no Commit and Rollback: each statement would commit on its own, and a later holder could write between the check and the write; begin a transaction and pass that", what, tx)
	}
	conn, ok := tx.(connection)
	if !ok {
		return nil
	}
	if err := begun(ctx, d, conn); err != nil {
		return fmt.Errorf("sqlguard: the transaction for %s is a %T: %w; each statement would commit on its own: begin a transaction, or pass a *sql.Tx", what, conn, err)
	}
	return nil
}

// begun asks the database whether a transaction has begun, and not ended.
func begun(ctx context.Context, d Dialect, conn Tx) error {
	if d == SQLite {
		ctx = context.WithoutCancel(ctx) // a driver may report a BEGIN that has run as canceled
		// Here a savepoint would begin a transaction, and only in a transaction BEGIN fails.
		_, err := conn.ExecContext(ctx, "BEGIN")
		switch {
		case err == nil:
			_, err = conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(errNotBegun, err)
		case !strings.Contains(err.Error(), "within a transaction"):
			return fmt.Errorf("%w: %w", errNotBegun, err)
		}
		return nil
	}
	// Without a transaction PostgreSQL refuses the first, and MySQL, which ignores it, the second.
	for _, statement := range []string{"SAVEPOINT sqlguard_begun", "RELEASE SAVEPOINT sqlguard_begun"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w: %s: %w", errNotBegun, statement, err)
		}
	}
	return nil
}

var errNotBegun = errors.New("no transaction was begun, or whether is unknown")

// PGX makes a Tx of a transaction of pgx: a pgx.Tx or a *pgxpool.Tx. The dialect is PostgreSQL.
// The type arguments are inferred. For Config.DB, pgx has stdlib.OpenDBFromPool.
func PGX[Rows rows, Tag interface{ RowsAffected() int64 }](tx interface {
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	Exec(ctx context.Context, query string, args ...any) (Tag, error)
	// These two keep out a pool and a connection.
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}) Tx {
	if v := reflect.ValueOf(tx); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil // which is refused
	}
	return &otherTx{
		query: func(ctx context.Context, query string, args ...any) (rows, error) {
			return tx.Query(ctx, query, args...)
		},
		exec: func(ctx context.Context, query string, args ...any) (int64, error) {
			tag, err := tx.Exec(ctx, query, args...)
			if err != nil {
				return 0, err
			}
			return tag.RowsAffected(), nil
		},
	}
}

// otherTx is a transaction that is not one of database/sql.
type otherTx struct {
	query func(ctx context.Context, query string, args ...any) (rows, error)
	exec  func(ctx context.Context, query string, args ...any) (int64, error)
}

// ExecContext executes a statement without rows.
func (tx *otherTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	n, err := tx.exec(ctx, query, args...)
	return affected(n), err
}

// QueryContext fails, because only database/sql makes a *sql.Rows. See number.
func (*otherTx) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errors.New("sqlguard: a transaction of pgx has no *sql.Rows; use pgx's own Query")
}

type affected int64

func (n affected) RowsAffected() (int64, error) { return int64(n), nil }

func (affected) LastInsertId() (int64, error) {
	return 0, errors.New("sqlguard: PostgreSQL has no LastInsertId; set Dialect to PostgreSQL for a transaction of pgx")
}

// rows are those of pgx or of database/sql. Both close themselves at the end.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
}

// number runs a query for rows of one number, and returns the last number and the
// number of rows. It reads to the end, as some drivers run a
// statement that returns rows only as far as it is read.
func number(ctx context.Context, tx Tx, query string, args ...any) (last sql.NullInt64, n int, err error) {
	var found rows
	if other, ok := tx.(*otherTx); ok {
		found, err = other.query(ctx, query, args...)
	} else {
		found, err = tx.QueryContext(ctx, query, args...) //nolint:sqlclosecheck,rowserrcheck // it is read to the end, and Err below
	}
	if err != nil {
		return last, 0, err
	}
	var failed error
	for ; found.Next(); n++ {
		if failed == nil {
			failed = found.Scan(&last)
		}
	}
	return last, n, cmp.Or(failed, found.Err())
}
