package designs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/redquorum/redlock/simulation/internal/byname"
)

// Errors of this package.
var (
	// ErrUnknown: there is no such design.
	ErrUnknown = byname.ErrUnknown
	// ErrRegister: a Design can't be registered.
	ErrRegister = errors.New("designs: can't be registered")
)

// registered are the registered designs. Nothing changes them once runs have begun.
var registered []Design

// All returns every design, in the order of the table.
func All() []Design {
	return slices.Concat(oneServer(), replicated(), redlocks(), tokens(), flaws(), registered)
}

// ByName returns the design with the name. The error Is ErrUnknown and lists the names.
func ByName(name string) (Design, error) {
	return byname.Find("design", name, All(), func(d Design) string { return d.Name })
}

// validName matches words of small letters and digits, with dashes between.
var validName = regexp.MustCompile("^[a-z0-9]+(-[a-z0-9]+)*$")

// Register adds a design of your own to All, in the group Yours. It needs a unique Name, and Apply. Servers is 5
// unless it is 1, and Title is the Name by default. Call Register before any run.
func Register(d Design) error {
	if d.Servers != 1 {
		d.Servers = 5
	}
	d.Title, d.Group = cmp.Or(d.Title, d.Name), Yours
	switch _, err := ByName(d.Name); {
	case !validName.MatchString(d.Name):
		return fmt.Errorf("%w: the name %q, want letters, digits and dashes", ErrRegister, d.Name)
	case err == nil:
		return fmt.Errorf("%w: the name %q is taken", ErrRegister, d.Name)
	case d.Apply == nil:
		return fmt.Errorf("%w: %s has no Apply", ErrRegister, d.Name)
	}
	registered = append(registered, d)
	return nil
}

// Registered returns the registered designs, in their order.
func Registered() []Design { return slices.Clone(registered) }
