package designs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Yours is the group of registered designs.
const Yours Group = "yours"

// ErrRegister: a Design can't be registered.
var ErrRegister = errors.New("designs: can't be registered")

var registered struct {
	sync.Mutex
	designs []Design
}

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
	case !validName(d.Name):
		return fmt.Errorf("%w: the name %q, want letters, digits and dashes", ErrRegister, d.Name)
	case err == nil:
		return fmt.Errorf("%w: the name %q is taken", ErrRegister, d.Name)
	case d.Apply == nil:
		return fmt.Errorf("%w: %s has no Apply", ErrRegister, d.Name)
	}
	registered.Lock()
	defer registered.Unlock()
	registered.designs = append(registered.designs, d)
	return nil
}

// Registered returns the registered designs, in their order.
func Registered() []Design {
	registered.Lock()
	defer registered.Unlock()
	return slices.Clone(registered.designs)
}

// validName reports whether a name is words of small letters and digits, with dashes between.
func validName(name string) bool {
	for word := range strings.SplitSeq(name, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
