package sqlguard

import (
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

// name is a resource's name as an argument. MySQL's column is of bytes, whatever the connection's
// character set is.
func (d Dialect) name(resource string) any {
	if d == MySQL {
		return []byte(resource)
	}
	return resource
}

// larger returns the function for the larger of two values.
func (d Dialect) larger() string {
	if d == SQLite {
		return "max"
	}
	//guard:sql-mark-rises  a mark in a database never falls
	return "GREATEST"
}
