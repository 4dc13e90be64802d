package sqlguard

import (
	"encoding/hex"
	"fmt"
	"strconv"
)

// Dialect is a database's kind of SQL. The zero Dialect is invalid.
type Dialect int

const (
	// PostgreSQL is PostgreSQL 9.5 or later, and databases with its SQL and its row
	// locks.
	PostgreSQL Dialect = iota + 1
	// SQLite is SQLite 3.35 or later.
	SQLite
	// MySQL is MySQL 8.0 or later and MariaDB 10.5 or later, with InnoDB.
	MySQL
)

// String returns the name of the dialect.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case SQLite:
		return "SQLite"
	case MySQL:
		return "MySQL"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

func (d Dialect) validate() error {
	if d < PostgreSQL || d > MySQL {
		return fmt.Errorf("sqlguard: dialect is %v, want PostgreSQL, SQLite or MySQL", d)
	}
	return nil
}

// arg is the placeholder of the n-th argument, from 1. MySQL takes the arguments in the order of
// their placeholders.
func (d Dialect) arg(n int) string {
	switch d {
	case SQLite:
		return "?" + strconv.Itoa(n)
	case MySQL:
		return "?"
	}
	return "$" + strconv.Itoa(n)
}

// name returns a resource's name as an argument, and as the expression of the n-th argument. The name
// goes over in hex: each connection has an encoding of its own, by which a text could become another
// one, and the resource have a second mark. SQLite has no such encoding.
func (d Dialect) name(resource string, n int) (arg any, expression string) {
	switch d {
	case PostgreSQL:
		// With the schema, because a search_path can name another one before it.
		return hex.EncodeToString([]byte(resource)), "pg_catalog.convert_from(pg_catalog.decode(" + d.arg(n) + ", 'hex'), 'UTF8')"
	case MySQL:
		// Text of two bytes a character, as in utf16, is no hex.
		return hex.EncodeToString([]byte(resource)), "UNHEX(CONVERT(" + d.arg(n) + " USING latin1))"
	}
	return resource, d.arg(n)
}

// larger returns the function for the larger of two values.
func (d Dialect) larger() string {
	if d == SQLite {
		return "max"
	}
	return "GREATEST"
}
