package fencing

import (
	"fmt"
	"strconv"
)

// Token is a fencing token. The lock service issues one with each lease, and each
// later lease on the same resource gets a larger one. The resource remembers the
// largest token it has seen and refuses smaller ones. That stops a holder whose
// lease expired while it was paused.
//
// The zero Token is no token: leases taken with fencing turned off carry it,
// and every Guard refuses it with ErrNoToken.
type Token uint64

// MaxToken is the largest possible token: 2^53-1. The servers count in Lua, and
// resources may use JavaScript or JSON: all three represent integers exactly only
// up to there.
const MaxToken Token = 1<<53 - 1

// String returns the token in decimal, as the HTTP header of package httpguard carries it.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// Valid reports whether t is a token that a lease can carry: 1 to MaxToken.
func (t Token) Valid() bool { return t > 0 && t <= MaxToken }

// ParseToken reads a token in the form that Token.String writes: decimal
// digits only, no sign, no space, no leading zero, 1 to MaxToken. Anything
// else is an error that wraps ErrBadToken, so each token has exactly one spelling.
func ParseToken(s string) (Token, error) {
	if s == "" {
		return 0, fmt.Errorf("%w: it is empty, want decimal digits", ErrBadToken)
	}
	if len(s) > len("9007199254740991") {
		return 0, fmt.Errorf("%w: %d characters, want a whole number from 1 to %d", ErrBadToken, len(s), MaxToken)
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: %q, want decimal digits", ErrBadToken, s)
		}
	}
	if s[0] == '0' {
		return 0, fmt.Errorf("%w: %q starts with a zero, want a whole number from 1 to %d", ErrBadToken, s, MaxToken)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || !Token(n).Valid() {
		return 0, fmt.Errorf("%w: %q, want a whole number from 1 to %d", ErrBadToken, s, MaxToken)
	}
	return Token(n), nil
}
