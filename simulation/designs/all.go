package designs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/byname"
)

// ErrUnknown: there is no such design.
var ErrUnknown = errors.New("designs: unknown")

// All returns every design, in the order of the table.
func All() []Design {
	return slices.Concat(oneServer(), replicated(), redlocks(), tokens(), flaws(), Registered())
}

// ByName returns the design with the name. The error Is ErrUnknown and lists the names.
func ByName(name string) (Design, error) {
	d, err := byname.Find("design", name, All(), func(d Design) string { return d.Name })
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return d, nil
}
