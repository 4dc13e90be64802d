package quorum

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/redquorum/redlock/fencing"
)

// handleVersion is the first field of the text, so that a later form can be told from this one.
const handleVersion = 2

// maxHandleText bounds what readHandleText reads.
const maxHandleText = 16 << 10

// handleText has the fields of the text of a Handle.
type handleText struct {
	Version  int           `json:"redlock_handle"` // write sets it
	Key      string        `json:"key"`
	Value    string        `json:"value"`
	Token    fencing.Token `json:"token"`
	TTL      time.Duration `json:"ttl_ns"`
	Deadline time.Time     `json:"deadline"`
	Set      string        `json:"set"` // Set.String
	MaxLife  time.Duration `json:"max_life_ns"`
	Lived    time.Duration `json:"lived_ns"`
	Sent     time.Time     `json:"sent"`
}

// write writes the text. The error Is ErrConfig, see validHandleKey.
func (t handleText) write() (string, error) {
	if err := validHandleKey(t.Key); err != nil {
		return "", err
	}
	t.Version = handleVersion
	text, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("%w: the handle can't be written: %w", ErrConfig, err)
	}
	return string(text), nil
}

// validHandleKey refuses a key that isn't UTF-8, and one with control characters, which the receiver's
// terminal would execute.
func validHandleKey(key string) error {
	switch {
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the handle's key %q is not UTF-8, and would be another one when it is read; use keys in UTF-8", ErrConfig, key)
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("%w: the handle's key %q has control characters; use keys without them", ErrConfig, key)
	}
	return nil
}

// readHandleText reads what write wrote, perhaps with other spaces, and accepts nothing else: no
// unknown field, no missing field, none twice or in other letters, nothing after the end. The error Is
// ErrConfig, and quotes nothing, because it could be the secret. The fields have yet to be validated.
func readHandleText(text string) (t handleText, err error) {
	if len(text) > maxHandleText {
		return handleText{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", ErrConfig, len(text), maxHandleText)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil || json.Unmarshal(compact.Bytes(), &t) != nil {
		return handleText{}, fmt.Errorf("%w: the handle can't be read: it is cut off, or is no JSON object with its fields", ErrConfig)
	}
	if t.Version != handleVersion {
		return handleText{}, fmt.Errorf("%w: the handle has version %d, this library reads %d; use the same library in both processes", ErrConfig, t.Version, handleVersion)
	}
	if err := validHandleKey(t.Key); err != nil {
		return handleText{}, err
	}
	// encoding/json takes the last of several fields of a name, in upper or lower case.
	if again, err := t.write(); err != nil || again != compact.String() {
		return handleText{}, fmt.Errorf("%w: the handle isn't what Handle.Text wrote: it has a field too many or too few, or in another form; send it unchanged", ErrConfig)
	}
	return t, nil
}
