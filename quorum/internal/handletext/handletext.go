// Package handletext writes and reads the text of a lease that is handed off.
package handletext

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
	"github.com/redquorum/redlock/quorum/wire"
)

// version is the first field of the text, so that a later form can be told from this one.
const version = 2

// maxLength bounds what Read reads.
const maxLength = 16 << 10

// Fields are the fields of the text.
type Fields struct {
	Version  int           `json:"redlock_handle"` // Write sets it
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

// Write writes the text. The error Is ErrConfig, see checkKey.
func Write(f Fields) (string, error) {
	if err := checkKey(f.Key); err != nil {
		return "", err
	}
	f.Version = version
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("%w: the handle can't be written: %w", wire.ErrConfig, err)
	}
	return string(text), nil
}

// checkKey refuses a key that isn't UTF-8, and one with control characters, which the receiver's
// terminal would execute.
func checkKey(key string) error {
	switch {
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the handle's key %q is not UTF-8, and would be another one when it is read; use keys in UTF-8", wire.ErrConfig, key)
	case strings.ContainsFunc(key, unicode.IsControl):
		return fmt.Errorf("%w: the handle's key %q has control characters; use keys without them", wire.ErrConfig, key)
	}
	return nil
}

// Read reads what Write wrote, and accepts nothing else: no unknown field, no missing field,
// none twice or in other letters, nothing after the end. The error Is ErrConfig. The fields
// have yet to be validated.
func Read(text string) (Fields, error) {
	if len(text) > maxLength {
		return Fields{}, fmt.Errorf("%w: the handle has %d bytes, at most %d are possible", wire.ErrConfig, len(text), maxLength)
	}
	fields, err := objectFields(text)
	if err != nil {
		return Fields{}, fmt.Errorf("%w: the handle can't be read: %w", wire.ErrConfig, err)
	}
	var f Fields
	for _, field := range []struct {
		name string
		to   any
	}{
		{"redlock_handle", &f.Version}, {"key", &f.Key}, {"value", &f.Value}, {"token", &f.Token}, {"ttl_ns", &f.TTL},
		{"deadline", &f.Deadline}, {"set", &f.Set}, {"max_life_ns", &f.MaxLife}, {"lived_ns", &f.Lived}, {"sent", &f.Sent},
	} {
		raw, found := fields[field.name]
		if !found || string(raw) == "null" {
			return Fields{}, fmt.Errorf("%w: the handle has no %s", wire.ErrConfig, field.name)
		}
		if err := json.Unmarshal(raw, field.to); err != nil {
			return Fields{}, fmt.Errorf("%w: the handle's %s can't be read", wire.ErrConfig, field.name) // not the error, which may quote a secret
		}
		if field.name == "redlock_handle" && f.Version != version {
			return Fields{}, fmt.Errorf("%w: the handle has version %d, this library reads %d; use the same library in both processes", wire.ErrConfig, f.Version, version)
		}
		delete(fields, field.name)
	}
	if err := checkKey(f.Key); err != nil {
		return Fields{}, err
	}
	for name := range fields {
		return Fields{}, fmt.Errorf("%w: the handle has a field %.40q, which no handle has", wire.ErrConfig, name)
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
