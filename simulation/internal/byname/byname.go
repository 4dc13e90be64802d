// Package byname finds things by their names.
package byname

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknown is wrapped by the error for a name that nothing has.
var ErrUnknown = errors.New("unknown name")

// Find returns the first thing with the name, in any case. The error Is ErrUnknown, and lists all names.
func Find[T any](what, name string, all []T, nameOf func(T) string) (found T, err error) {
	names := make([]string, len(all))
	for i, one := range all {
		if names[i] = nameOf(one); strings.EqualFold(names[i], name) {
			return one, nil
		}
	}
	return found, fmt.Errorf("%w: no %s %q; there are %s", ErrUnknown, what, name, strings.Join(names, ", "))
}
