package fencing

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxResourceLen is the length limit of a resource name, in bytes. It bounds the
// memory that a caller can use in a guard, and fits every store's key.
const MaxResourceLen = 1024

// Validate checks a resource name and a token. The name must be 1 to
// MaxResourceLen bytes of UTF-8 text without NUL (else ErrBadResource). The zero
// Token is ErrNoToken, and a token above MaxToken is ErrBadToken. Every Guard calls
// Validate before it reads its marks. NUL and invalid UTF-8 are refused because not
// every store can keep them, and a name must mean the same in every store.
func Validate(resource string, t Token) error {
	switch {
	case resource == "":
		return fmt.Errorf("%w: it is empty; name what the token protects", ErrBadResource)
	case len(resource) > MaxResourceLen:
		return fmt.Errorf("%w: %d bytes, want at most %d; use a hash of it", ErrBadResource, len(resource), MaxResourceLen)
	case !utf8.ValidString(resource) || strings.IndexByte(resource, 0) >= 0:
		return fmt.Errorf("%w: %q, want UTF-8 text without NUL; encode it, in hex for example", ErrBadResource, resource)
	case t == 0:
		return fmt.Errorf("%w for resource %q; acquire the lock with fencing on and pass the lease's token", ErrNoToken, resource)
	case t > MaxToken:
		return fmt.Errorf("%w: %d for resource %q, want at most %d; pass a lease's token unchanged",
			ErrBadToken, uint64(t), resource, uint64(MaxToken))
	}
	return nil
}
