package quorumotel

import (
	"strconv"
	"unicode/utf8"

	"github.com/redquorum/redlock/quorum"
)

// valid gives a text that exporters take: OTLP refuses a whole batch in which one string
// isn't UTF-8, and keys, names and errors may hold any bytes. A text that isn't UTF-8 is
// escaped as in a Go string.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// words is an error's text without lock values: whoever knows one can release the lock.
func words(err error) string { return valid(quorum.Redact(err.Error())) }
