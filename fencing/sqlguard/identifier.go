package sqlguard

import (
	"fmt"
	"regexp"
	"strings"
)

// maxIdentifier is the length to which PostgreSQL cuts names, silently. MySQL's are up to 64
// bytes long.
const maxIdentifier = 63

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// qualify puts the dialect's own schema in front of a table's name without one.
//
// The connection's search_path resolves an unqualified name, and a temporary table
// of that name precedes all others, in both dialects. Two
// connections could then keep the marks of one resource in two tables, and a
// stale token would pass in one of them. MySQL has no schema of its own that every connection
// can use, so there the name must have one.
func (d Dialect) qualify(field, table string) (string, error) {
	switch {
	case strings.Contains(table, "."):
		return table, nil
	case d == SQLite:
		return "main." + table, nil
	case d == MySQL:
		return "", fmt.Errorf("sqlguard: %s is %q, want database.table: in MySQL each connection has a database of its own choice", field, table)
	}
	return "public." + table, nil
}

// quoteTable returns the quoted form of "table" or "schema.table".
func (d Dialect) quoteTable(field, name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return "", fmt.Errorf("sqlguard: %s is %q, want a table or schema.table", field, name)
	}
	for i, p := range parts {
		q, err := d.quote(field, p)
		if err != nil {
			return "", err
		}
		parts[i] = q
	}
	return strings.Join(parts, "."), nil
}

// quote returns the quoted form of one identifier. It takes only letters, digits
// and underscores, which are enough and cannot end the quotes to inject SQL. Quoting keeps the case of letters and lets reserved words pass.
func (d Dialect) quote(field, name string) (string, error) {
	if len(name) > maxIdentifier {
		return "", fmt.Errorf("sqlguard: %s has a name of %d bytes, want at most %d", field, len(name), maxIdentifier)
	}
	if !identifier.MatchString(name) {
		return "", fmt.Errorf("sqlguard: %s has the name %q, want ASCII letters, digits and underscores, and no digit first", field, name)
	}
	switch d {
	case MySQL:
		return "`" + name + "`", nil
	case SQLite:
		// SQLite reads "name" as a string literal if there is no such column.
		return "[" + name + "]", nil
	}
	return `"` + name + `"`, nil
}
