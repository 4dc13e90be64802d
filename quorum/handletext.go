package quorum

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
func (f handleText) write() (string, error) {
	if err := validHandleKey(f.Key); err != nil {
		return "", err
	}
	f.Version = handleVersion
	text, err := json.Marshal(f)
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

// readHandleText reads what write wrote, and accepts nothing else: no unknown field, no missing field,
// none twice or in other letters, nothing after the end. The error Is ErrConfig. The fields
// have yet to be validated.
func readHandleText(text string) (handleText, error) {
	if len(text) > maxHandleText {
		return handleText{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", ErrConfig, len(text), maxHandleText)
	}
	fields, err := objectFields(text)
	if err != nil {
		return handleText{}, fmt.Errorf("%w: the handle can't be read: %w", ErrConfig, err)
	}
	var f handleText
	for _, field := range []struct {
		name string
		to   any
	}{
		{"redlock_handle", &f.Version}, {"key", &f.Key}, {"value", &f.Value}, {"token", &f.Token}, {"ttl_ns", &f.TTL},
		{"deadline", &f.Deadline}, {"set", &f.Set}, {"max_life_ns", &f.MaxLife}, {"lived_ns", &f.Lived}, {"sent", &f.Sent},
	} {
		raw, found := fields[field.name]
		if !found || string(raw) == "null" {
			return handleText{}, fmt.Errorf("%w: the handle has no %s", ErrConfig, field.name)
		}
		if err := json.Unmarshal(raw, field.to); err != nil {
			return handleText{}, fmt.Errorf("%w: the handle's %s can't be read", ErrConfig, field.name) // not the error, which may quote a secret
		}
		if field.name == "redlock_handle" && f.Version != handleVersion {
			return handleText{}, fmt.Errorf("%w: the handle has version %d, this library reads %d; use the same library in both processes", ErrConfig, f.Version, handleVersion)
		}
		delete(fields, field.name)
	}
	if err := validHandleKey(f.Key); err != nil {
		return handleText{}, err
	}
	for name := range fields {
		return handleText{}, fmt.Errorf("%w: the handle has a field %.40q, which no handle has", ErrConfig, name)
	}
	return f, nil
}

// objectFields reads a JSON object, each field once and by its exact name. encoding/json takes
// the last of several, in upper or lower case.
func objectFields(text string) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	fields := make(map[string]json.RawMessage)
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errors.New("it is cut off or no JSON object")
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, errors.New("it is cut off or no JSON object")
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("it has the field %.40q twice", name)
		}
		fields[name] = raw
	}
	if end, err := decoder.Token(); err != nil || end != json.Delim('}') {
		return nil, errors.New("it is cut off")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has something after its end")
	}
	return fields, nil
}
