package quorum

import "strings"

// Redact shortens whatever in a text looks like a lock's value, or like a part of one: of each
// run of 16 or more hexadecimal digits the first 8 are left. Knowing a value is enough to
// release the lock. Run IDs and the hashes of scripts look the same, and 8 digits are enough to
// tell them apart. A number of up to 19 decimal digits, such as a fencing token, stays.
//
// It is for hooks that log errors, because an instance's error may quote what was sent.
func Redact(text string) string {
	const (
		decimal, hexadecimal = "0123456789", "0123456789abcdefABCDEF"
		longestNumber, left  = 19, 8
		// A shorter run leaves more than 100 bits of a value unknown.
		shortest = 16
	)
	var redacted strings.Builder
	for text != "" {
		run := text[:len(text)-len(strings.TrimLeft(text, hexadecimal))]
		text = text[len(run):]
		//guard:redact-parts  a part of a lock's value is hidden in texts, too
		if len(run) >= shortest && (len(run) > longestNumber || strings.Trim(run, decimal) != "") {
			run = run[:left] + "..."
		}
		next := strings.IndexAny(text, hexadecimal)
		if next < 0 {
			next = len(text)
		}
		redacted.WriteString(run)
		redacted.WriteString(text[:next])
		text = text[next:]
	}
	return redacted.String()
}
