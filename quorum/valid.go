package quorum

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on names, in bytes.
const (
	maxKey   = 1024
	maxOwner = 64  // Config.Owner
	maxNote  = 128 // Terms.Note
)

// ValidateKey checks the name of a resource: 1 to 1024 bytes, without NUL and braces. The error
// is ErrConfig.
func ValidateKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty, give the resource a name", ErrConfig)
	case len(key) > maxKey:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed; use a hash of it", ErrConfig, len(key), maxKey)
	}
	if i := strings.IndexAny(key, "\x00{}"); i >= 0 {
		return fmt.Errorf("%w: the key %q has a %q at byte %d; NUL and braces are not allowed: the braces mark what decides a key's slot, and the counter's key is put in them", ErrConfig, key, key[i], i)
	}
	return nil
}

// validOwner checks the name of a client.
func validOwner(owner string) error {
	if len(owner) > maxOwner {
		return fmt.Errorf("%w: Owner has %d bytes, at most %d are allowed", ErrConfig, len(owner), maxOwner)
	}
	for i := range len(owner) {
		if owner[i] <= ' ' || owner[i] > '~' {
			return fmt.Errorf("%w: Owner %q has the byte %q, use printable ASCII without spaces", ErrConfig, owner, owner[i])
		}
	}
	return nil
}

// validNote checks a text about a lease.
func validNote(note string) error {
	if len(note) > maxNote {
		return fmt.Errorf("%w: Note has %d bytes, at most %d are allowed", ErrConfig, len(note), maxNote)
	}
	if i := strings.IndexFunc(note, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }); i >= 0 {
		return fmt.Errorf("%w: Note %q has a character at byte %d that can't be printed, use printable UTF-8", ErrConfig, note, i)
	}
	return nil
}

// validMillis checks that PX can carry a duration.
func validMillis(name string, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("%w: %s is %v, want at least 1ms: servers count time to live in milliseconds", ErrConfig, name, d)
	case d > 10*365*24*time.Hour:
		return fmt.Errorf("%w: %s is %v, want at most ten years", ErrConfig, name, d)
	case d%time.Millisecond != 0:
		return fmt.Errorf("%w: %s is %v, want whole milliseconds, such as %v", ErrConfig, name, d, d.Round(time.Millisecond))
	}
	return nil
}
