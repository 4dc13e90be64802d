package sqlguard

import (
	"fmt"
	"strings"
)

// maxIdentifier is the length to which PostgreSQL cuts names, silently.
const maxIdentifier = 63

// quoteTable gives the quoted form of "table" or "schema.table".
func quoteTable(field, name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return "", fmt.Errorf("sqlguard: %s is %q, want a table or schema.table", field, name)
	}
	for i, p := range parts {
		q, err := quote(field, p)
		if err != nil {
			return "", err
		}
		parts[i] = q
	}
	return strings.Join(parts, "."), nil
}

// quote gives the quoted form of one identifier. It takes only letters, digits
// and underscores: nobody needs more, and what cannot end the quotes cannot
// inject SQL. Quoting keeps the case of letters and lets reserved words pass.
func quote(field, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("sqlguard: %s has an empty name; want letters, digits and underscores", field)
	}
	if len(name) > maxIdentifier {
		return "", fmt.Errorf("sqlguard: %s has a name of %d bytes, want at most %d", field, len(name), maxIdentifier)
	}
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", fmt.Errorf("sqlguard: %s has the name %q, want ASCII letters, digits and underscores, and no digit first", field, name)
		}
	}
	return `"` + name + `"`, nil
}
