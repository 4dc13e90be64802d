package designs

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Yours is the group of registered designs.
const Yours Group = "yours"

// ErrRegister: a Design can't be registered.
var ErrRegister = errors.New("designs: can't be registered")

// registered are the registered designs. Nothing changes them once runs have begun.
var registered []Design

// validName matches words of small letters and digits, with dashes between.
var validName = regexp.MustCompile("^[a-z0-9]+(-[a-z0-9]+)*$")

// Register adds a design of your own to All. It needs a unique Name, and Apply. Servers is 5
// unless it is 1, and Title is the Name by default. Call Register before any run, also in
// worker processes.
func Register(d Design) error {
	if d.Servers != 1 {
		d.Servers = 5
	}
	d.Title = cmp.Or(d.Title, d.Name)
	d.Group = Yours
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
