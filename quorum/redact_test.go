package quorum_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum"
)

func TestRedact(t *testing.T) {
	const value = "0123456789abcdef0123456789abcdef01234567"
	for text, want := range map[string]string{
		"":                              "",
		"no lock":                       "no lock",
		value:                           "01234567...",
		value + ":worker-1":             "01234567...:worker-1",
		"args: '" + value[:39] + "...":  "args: '01234567......",
		"args: '" + value[:16] + "':w":  "args: '01234567...':w",
		"the end of one: " + value[24:]: "the end of one: 89abcdef...",
		"0123456789ABCDEF0":             "01234567...",
		value[:15]:                      value[:15],
		value + " and " + value:         "01234567... and 01234567...",
		"token 1767225600054069":        "token 1767225600054069",
		"until 1767225600054069123":     "until 1767225600054069123",
		"12345678901234567890":          "12345678...",
		"the set 5:deadbeef":            "the set 5:deadbeef",
	} {
		assert.Equal(t, want, quorum.Redact(text), text)
	}
}

// In any text, what a regular expression finds is redacted, and nothing else.
func TestRedactIsThatOfAnExpression(t *testing.T) {
	secret := regexp.MustCompile(`[0-9a-fA-F]{16,}`)
	r := rand.New(rand.NewPCG(1, 1))
	redacted := 0
	for range 10_000 {
		var b strings.Builder
		for range r.IntN(6) {
			for of, n := []string{"0123456789", "09afAF", "gé-: \xff"}[r.IntN(3)], r.IntN(24); n > 0; n-- {
				b.WriteByte(of[r.IntN(len(of))])
			}
		}
		text := b.String()
		want := secret.ReplaceAllStringFunc(text, func(run string) string {
			if len(run) < 20 && strings.Trim(run, "0123456789") == "" {
				return run
			}
			redacted++
			return run[:8] + "..."
		})
		require.Equal(t, want, quorum.Redact(text), "%q", text)
	}
	require.Greater(t, redacted, 1_000)
}
