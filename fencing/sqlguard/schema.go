package sqlguard

import (
	"cmp"
	"context"
	"fmt"
)

// defaultTable is the table of marks unless Config names another. Like every
// table of marks that is named without a schema, it is in the schema "public" in
// PostgreSQL and in "main" in SQLite. In MySQL there is no default.
const defaultTable = "fencing_marks"

// Schema returns the statement that creates the table of marks if it is not there,
// for your migrations. The table is named as in Config.Table; "" means
// "fencing_marks", except in MySQL. Nothing else may write to it, and a row must never be deleted
// while a holder of an old lease on its resource may still continue.
func Schema(d Dialect, table string) (string, error) {
	_, name, err := d.marks("table", table)
	if err != nil {
		return "", err
	}
	return d.schema(name), nil
}

// marks returns the qualified name of a table of marks, and the quoted one.
func (d Dialect) marks(field, table string) (name, quoted string, err error) {
	if err := d.validate(); err != nil {
		return "", "", err
	}
	if name, err = d.qualify(field, cmp.Or(table, defaultTable)); err != nil {
		return "", "", err
	}
	quoted, err = d.quoteTable(field, name)
	return name, quoted, err
}

// schema is the statement that makes the table of a quoted name.
func (d Dialect) schema(name string) string {
	// Names of resources are compared byte by byte, whatever the database's
	// collation. The bounds are those of fencing.Token.
	resource := `TEXT COLLATE "C"`
	token := "BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)"
	options := ""
	switch d {
	case SQLite:
		resource = "TEXT COLLATE BINARY"
		// By default SQLite accepts text in a column of numbers.
		token = "INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token BETWEEN 1 AND 9007199254740991)"
	case MySQL:
		// Bytes have no collation, by which "a" might equal "A" or "a ". The other engines know no
		// transactions, and the other row formats no key of 1024 bytes (fencing.MaxResourceLen).
		resource = "VARBINARY(1024)"
		options = " ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
	}
	return "CREATE TABLE IF NOT EXISTS " + name + " (\n" +
		"\tresource " + resource + " NOT NULL PRIMARY KEY,\n" +
		"\ttoken " + token + "\n)" + options
}

// CreateTable runs Schema on the guard's database. Several processes should not
// do so at the same moment: PostgreSQL may then fail in one of them although it
// says IF NOT EXISTS.
//
// If the table is there already, CreateTable checks its kind, columns and unique keys. It refuses a
// table in which a stale token could pass or two resources could share a mark, and in MySQL a
// connection without autocommit. So call it even if a migration creates the table. It does not check
// triggers.
func (g *Guard) CreateTable(ctx context.Context) error {
	if g == nil || g.config.DB == nil {
		return errNotMade
	}
	if _, err := g.config.DB.ExecContext(ctx, g.config.Dialect.schema(g.table)); err != nil {
		return fmt.Errorf("sqlguard: create table %s: %w", g.config.Table, err)
	}
	return g.fits(ctx)
}
