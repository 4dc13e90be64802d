// Package valid checks what users name and choose. All its errors are ErrConfig.
package valid

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redquorum/redlock/quorum/wire"
)

// Key checks the name of a resource, of at most so many bytes.
func Key(key string, most int) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty, give the resource a name", wire.ErrConfig)
	case len(key) > most:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed; use a hash of it", wire.ErrConfig, len(key), most)
	}
	if i := strings.IndexAny(key, "\x00{}"); i >= 0 {
		return fmt.Errorf("%w: the key %q has a %q at byte %d; NUL and braces are not allowed: the braces mark what decides a key's slot, and the counter's key is put in them", wire.ErrConfig, key, key[i], i)
	}
	return nil
}

// Owner checks the name of a client, of at most so many bytes.
func Owner(owner string, most int) error {
	if len(owner) > most {
		return fmt.Errorf("%w: Owner has %d bytes, at most %d are allowed", wire.ErrConfig, len(owner), most)
	}
	for i := range len(owner) {
		if owner[i] <= ' ' || owner[i] > '~' {
			return fmt.Errorf("%w: Owner %q has the byte %q, use printable ASCII without spaces", wire.ErrConfig, owner, owner[i])
		}
	}
	return nil
}

// Note checks a text about a lease, of at most so many bytes.
func Note(note string, most int) error {
	if len(note) > most {
		return fmt.Errorf("%w: Note has %d bytes, at most %d are allowed", wire.ErrConfig, len(note), most)
	}
	if i := strings.IndexFunc(note, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }); i >= 0 {
		return fmt.Errorf("%w: Note %q has a character at byte %d that can't be printed, use printable UTF-8", wire.ErrConfig, note, i)
	}
	return nil
}

// Millis checks that PX can carry a duration.
func Millis(name string, d time.Duration) error {
	switch {
	case d < time.Millisecond:
		return fmt.Errorf("%w: %s is %v, want at least 1ms: servers count time to live in milliseconds", wire.ErrConfig, name, d)
	case d > 10*365*24*time.Hour:
		return fmt.Errorf("%w: %s is %v, want at most ten years", wire.ErrConfig, name, d)
	case d%time.Millisecond != 0:
		return fmt.Errorf("%w: %s is %v, want whole milliseconds, such as %v", wire.ErrConfig, name, d, d.Round(time.Millisecond))
	}
	return nil
}
