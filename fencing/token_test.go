package fencing_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
)

func TestParseTokenRefuses(t *testing.T) {
	for _, s := range []string{
		"", "0", "00", "01", "-1", "+1", " 1", "1 ", "1\n", "0x10", "1e3", "1_000", "1.0", "١", "1,2",
		"9007199254740992", "9999999999999999", "18446744073709551616", strings.Repeat("1", 10000),
	} {
		got, err := fencing.ParseToken(s)
		assert.ErrorIs(t, err, fencing.ErrBadToken, "%.30q", s)
		assert.Zero(t, got)
		assert.Less(t, len(err.Error()), 200, "the error must not repeat a long input")
	}
}

// FuzzParseToken: a parsed text is a token and has one spelling, and whatever strconv parses in
// that spelling is parsed.
func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"", "0", "1", "033", "9007199254740991", "9007199254740992", "+5", "5 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := fencing.ParseToken(s)
		n, plain := strconv.ParseUint(s, 10, 64)
		want := plain == nil && fencing.Token(n).Valid() && strconv.FormatUint(n, 10) == s
		assert.Equal(t, want, err == nil, "%q: %v", s, err)
		if err == nil {
			assert.Equal(t, s, got.String())
		} else {
			assert.ErrorIs(t, err, fencing.ErrBadToken)
		}
	})
}
