package sqlguard

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redquorum/redlock/fencing"
)

// TableConfig describes a table whose rows keep their marks themselves. All
// names are of letters, digits and underscores, up to 63 bytes, and quoted in
// statements, so the case of letters counts.
type TableConfig struct {
	Dialect Dialect // the database's; required

	// Name is "table" or "schema.table". Required. Without a schema the
	// connection decides which table it is, as for statements of your own: the
	// mark is in the row that it protects, so both are found or missed together.
	Name string

	Key   string // the column that names a row, unique; "" means "id"; in SQLite no name of the rowid
	Fence string // the column of the mark, a BIGINT, where NULL means none yet; "" means "fence"

	// Bound limits the tokens that the table accepts, by the clock of this process.
	// The zero Bound is right for tokens of this module. For an UPDATE of your own
	// call Bound.Check first.
	Bound fencing.Bound
}

// Table updates rows that have a fence column. It is safe for concurrent use.
//
// It is no fencing.Guard, because it cannot keep a mark for a missing row. Create it
// with NewTable: every call on the zero Table fails.
type Table struct {
	config           TableConfig
	name, key, fence string // quoted
	selectFence      string
}

// NewTable returns a Table. An error names the field of c that is invalid.
func NewTable(c TableConfig) (*Table, error) {
	c.Key = cmp.Or(c.Key, "id")
	c.Fence = cmp.Or(c.Fence, "fence")
	if err := c.Dialect.validate(); err != nil {
		return nil, err
	}
	if err := c.Bound.Validate(); err != nil {
		return nil, fmt.Errorf("sqlguard: TableConfig.Bound: %w", err)
	}
	t := &Table{config: c}
	var err error
	if t.name, err = c.Dialect.quoteTable("TableConfig.Name", c.Name); err != nil {
		return nil, err
	}
	if t.key, err = t.column("TableConfig.Key", c.Key); err != nil {
		return nil, err
	}
	if t.fence, err = t.column("TableConfig.Fence", c.Fence); err != nil {
		return nil, err
	}
	if strings.EqualFold(c.Key, c.Fence) {
		return nil, fmt.Errorf("sqlguard: TableConfig.Key and Fence are both %q, want two columns", c.Key)
	}
	t.selectFence = "SELECT " + t.fence + " FROM " + t.name + " WHERE " + t.key + " = " + c.Dialect.arg(1)
	if c.Dialect == MySQL {
		// A plain SELECT reads the transaction's snapshot at REPEATABLE READ, the default, while
		// the UPDATE compared with the row as it is. And UpdateTx needs the lock.
		t.selectFence += " FOR UPDATE"
	}
	return t, nil
}

// column returns the quoted form of a column's name. It refuses the names of
// SQLite's rowid: they are other names of an INTEGER PRIMARY KEY, so that an
// UPDATE of one would change the key, or an UPDATE of the key the one.
func (t *Table) column(field, name string) (string, error) {
	if t.config.Dialect == SQLite {
		switch strings.ToLower(name) {
		case "rowid", "oid", "_rowid_":
			return "", fmt.Errorf("sqlguard: %s has the name %q, another name of the rowid in SQLite; name the INTEGER PRIMARY KEY column", field, name)
		}
	}
	return t.config.Dialect.quote(field, name)
}

// Admit shows the token of a new holder to the row with the given key,
// before it reads the row: it raises the row's mark in a transaction of its
// own. The errors are those of UpdateTx.
func (t *Table) Admit(ctx context.Context, db *sql.DB, key any, tok fencing.Token) error {
	return t.Update(ctx, db, key, tok, nil)
}

// Update is UpdateTx in a transaction of its own.
func (t *Table) Update(ctx context.Context, db *sql.DB, key any, tok fencing.Token, set map[string]any) error {
	if t == nil || t.name == "" {
		return errNotMade
	}
	if db == nil {
		return fmt.Errorf("sqlguard: the database for %s is nil; pass the one that has the table", t.resource(key))
	}
	return transact(ctx, db, t.resource(key), func(tx *sql.Tx) error { return t.UpdateTx(ctx, tx, key, tok, set) })
}

// UpdateTx sets columns of the row with the given key, and its mark to tok, if
// the mark is not larger; check and write are one statement. An empty set only
// raises the mark. For expressions such as "balance - 1" write the statement
// yourself, see the package documentation, and ask Refusal.
//
// Nothing is changed, and the error
//   - is a *fencing.StaleError if the row has seen a larger token;
//   - wraps sql.ErrNoRows if there is no such row;
//   - wraps fencing.ErrNoToken or fencing.ErrBadToken for what is no token;
//   - is a *fencing.AheadError for a token above TableConfig.Bound;
//   - wraps ErrCorrupt if the mark is above fencing.MaxToken.
//
// After any other error roll the transaction back.
func (t *Table) UpdateTx(ctx context.Context, tx Tx, key any, tok fencing.Token, set map[string]any) error {
	if err := t.validate(ctx, tx, key, tok); err != nil {
		return err
	}
	query, args, err := t.update(key, tok, set)
	if err != nil {
		return err
	}
	if err := ended(ctx); err != nil {
		return fmt.Errorf("sqlguard: %s not updated with token %d: %w", t.resource(key), uint64(tok), err)
	}
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("sqlguard: update of %s with token %d: %w", t.resource(key), uint64(tok), err)
	}
	n, err := affectedRows(result)
	switch {
	case err != nil:
		return fmt.Errorf("sqlguard: update of %s: %w", t.resource(key), err)
	case n == 1:
		return nil
	case n > 1:
		return fmt.Errorf("sqlguard: update of %s changed %d rows; roll back, and make column %s unique", t.resource(key), n, t.config.Key)
	}
	passes, err := t.judge(ctx, tx, key, tok)
	if !passes || t.config.Dialect != MySQL {
		return err
	}
	// MySQL counts the rows that changed, unless the connection is opened with clientFoundRows. So
	// the row may have been found, with all values there already, or have come in between. It
	// passes, and is locked by now: the same statement finds it, whatever it counts.
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("sqlguard: update of %s with token %d: %w", t.resource(key), uint64(tok), err)
	}
	return nil
}

// Refusal says why a conditional UPDATE in tx changed no row: a
// *fencing.StaleError if the row's mark is larger than tok, an error that wraps
// sql.ErrNoRows if there is no such row, one that wraps ErrCorrupt if the mark is
// above fencing.MaxToken, and another one if the row would pass by now, because
// it came or changed in between: roll back and try again then. It never gives nil.
func (t *Table) Refusal(ctx context.Context, tx Tx, key any, tok fencing.Token) error {
	if err := t.validate(ctx, tx, key, tok); err != nil {
		return err
	}
	_, err := t.judge(ctx, tx, key, tok)
	return err
}

// judge reads the mark of a row that was not updated, and locks the row in MySQL. The error says why
// it was not. Passes says that it would be now.
func (t *Table) judge(ctx context.Context, tx Tx, key any, tok fencing.Token) (passes bool, err error) {
	fence, n, err := number(ctx, tx, t.selectFence, key)
	switch {
	case err != nil:
		return false, fmt.Errorf("sqlguard: mark of %s: %w", t.resource(key), err)
	case n == 0:
		return false, fmt.Errorf("sqlguard: %s: %w", t.resource(key), sql.ErrNoRows)
	case n > 1:
		return false, fmt.Errorf("sqlguard: %s is %d rows; make column %s unique", t.resource(key), n, t.config.Key)
	case fence.Int64 > int64(fencing.MaxToken):
		return false, fmt.Errorf("%w: that of %s is %d, want at most %d; find out what writes it, then set it by hand, to NULL for example",
			ErrCorrupt, t.resource(key), fence.Int64, uint64(fencing.MaxToken))
	case fence.Int64 > int64(tok):
		return false, &fencing.StaleError{Resource: t.resource(key), Token: tok, Highest: fencing.Token(fence.Int64)}
	}
	return true, fmt.Errorf("sqlguard: %s was not updated, but its mark is %d and token %d would pass now; try again", t.resource(key), fence.Int64, uint64(tok))
}

// resource names a row in errors.
func (t *Table) resource(key any) string { return fmt.Sprintf("%s/%v", t.config.Name, key) }

func (t *Table) validate(ctx context.Context, tx Tx, key any, tok fencing.Token) error {
	if t == nil || t.name == "" {
		return errNotMade
	}
	if err := checkTx(ctx, t.config.Dialect, tx, t.resource(key)); err != nil {
		return err
	}
	if key == nil {
		return fmt.Errorf("sqlguard: the key for table %s is nil, which equals no row; pass the row's", t.config.Name)
	}
	err := t.config.Bound.Check(t.config.Name, tok)
	if ahead := new(fencing.AheadError); errors.As(err, &ahead) {
		ahead.Resource = t.resource(key)
	}
	return err
}

// update returns the statement and its arguments. The values are in the order of their columns'
// names, so that equal sets make equal statements.
func (t *Table) update(key any, tok fencing.Token, set map[string]any) (string, []any, error) {
	d := t.config.Dialect
	// The cast keeps a database from taking the type from a narrower column.
	token, keyArg := "CAST("+d.arg(1)+" AS BIGINT)", d.arg(2)
	args := []any{int64(tok), key}
	if d == MySQL {
		token, args = "CAST(? AS SIGNED)", args[:1]
	}
	sets := []string{t.fence + " = " + token}
	for _, column := range slices.Sorted(maps.Keys(set)) {
		name, err := t.column("column to set", column)
		if err != nil {
			return "", nil, err
		}
		if strings.EqualFold(column, t.config.Key) || strings.EqualFold(column, t.config.Fence) {
			return "", nil, fmt.Errorf("sqlguard: column %q of %s cannot be set: it is the key or the mark", column, t.config.Name)
		}
		args = append(args, set[column])
		sets = append(sets, name+" = "+d.arg(len(args)))
	}
	if d == MySQL {
		args = append(args, key, int64(tok))
	}
	return "UPDATE " + t.name + " SET " + strings.Join(sets, ", ") +
		//guard:sql-row-refuses-lower  a row refuses a token below the largest that it has seen
		" WHERE " + t.key + " = " + keyArg + " AND COALESCE(" + t.fence + ", 0) <= " + token, args, nil
}
