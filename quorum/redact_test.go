package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
