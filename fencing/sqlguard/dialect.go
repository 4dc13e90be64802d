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
)

// String returns the name of the dialect.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

func (d Dialect) validate() error {
	if d != PostgreSQL && d != SQLite {
		return fmt.Errorf("sqlguard: dialect is %v, want PostgreSQL or SQLite", d)
	}
	return nil
}

// arg is the placeholder of the n-th argument, from 1.
func (d Dialect) arg(n int) string {
	if d == SQLite {
		return "?" + strconv.Itoa(n)
	}
	return "$" + strconv.Itoa(n)
}

// larger returns the function for the larger of two values.
func (d Dialect) larger() string {
	if d == SQLite {
		return "max"
	}
	//guard:sql-mark-rises  a mark in a database never falls
	return "GREATEST"
}
