package sqlguard

import (
	"cmp"
	"context"
	"fmt"
	"strings"
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
	if err := d.validate(); err != nil {
		return "", err
	}
	table, err := d.qualify("table", cmp.Or(table, defaultTable))
	if err != nil {
		return "", err
	}
	name, err := quoteTable(d, "table", table)
	if err != nil {
		return "", err
	}
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
		//guard:mysql-innodb  the table of marks has transactions in MySQL
		options = " ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
	}
	return "CREATE TABLE IF NOT EXISTS " + name + " (\n" +
		"\tresource " + resource + " NOT NULL PRIMARY KEY,\n" +
		"\ttoken " + token + "\n)" + options, nil
}

// CreateTable runs Schema on the guard's database. Several processes should not
// do so at the same moment: PostgreSQL may then fail in one of them although it
// says IF NOT EXISTS. In MySQL it also checks a table that is there already: without InnoDB or
// the primary key, all tokens would pass.
func (g *Guard) CreateTable(ctx context.Context) error {
	if g == nil || g.config.DB == nil {
		return errNotMade
	}
	if _, err := g.config.DB.ExecContext(ctx, g.schema); err != nil {
		return fmt.Errorf("sqlguard: create table %s: %w", g.config.Table, err)
	}
	if g.config.Dialect != MySQL {
		return nil
	}
	database, table, _ := strings.Cut(g.config.Table, ".")
	_, n, err := number(ctx, g.config.DB, fitTable, database, table, database, table)
	switch {
	case err != nil:
		return fmt.Errorf("sqlguard: look at table %s: %w", g.config.Table, err)
	case n == 0:
		return fmt.Errorf("sqlguard: table %s is there, but its engine is not InnoDB, or its primary key is not the column resource alone; create it by Schema", g.config.Table)
	}
	return nil
}

// fitTable has a row if a table of MySQL can keep marks.
const fitTable = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND ENGINE = 'InnoDB' AND " +
	"(SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = 'PRIMARY') = 'resource'"
