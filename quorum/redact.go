package quorum

import (
	"regexp"
	"strings"
)

// secretDigits finds what may be a part of a lock's value: a run of hexadecimal digits.
// A shorter run leaves more than 100 bits of a value unknown.
//
//guard:redact-parts  a part of a lock's value is hidden in texts, too
var secretDigits = regexp.MustCompile(`[0-9a-fA-F]{16,}`)

// Redact shortens whatever in a text looks like a lock's value, or like a part of one: of each
// run of 16 or more hexadecimal digits the first 8 are left. Knowing a value is enough to
// release the lock. Run IDs and the hashes of scripts look the same, and 8 digits are enough to
// tell them apart. A number of up to 19 decimal digits, such as a fencing token, stays.
//
// It is for hooks that log errors, because an instance's error may quote what was sent.
func Redact(text string) string {
	return secretDigits.ReplaceAllStringFunc(text, func(run string) string {
		const longestNumber, left = 19, 8
		if len(run) <= longestNumber && strings.Trim(run, "0123456789") == "" {
			return run
		}
		return run[:left] + "..."
	})
}
