package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/redquorum/redlock/simulation/bench/client"
	"github.com/redquorum/redlock/simulation/internal/origin"
)

// Results are the results of all measurements.
type Results struct {
	Throughput []Throughput  `json:"throughput,omitempty"`
	Sick       []Sickness    `json:"sick,omitempty"`
	Contended  []Contended   `json:"contended,omitempty"`
	Scale      []Scale       `json:"scale,omitempty"`
	Held       []client.Held `json:"held,omitempty"`
	Against    *Against      `json:"against,omitempty"`

	// Recorded says how each part was measured.
	Recorded map[string]Setting `json:"recorded,omitempty"`
}

// Setting is how a part was measured.
type Setting struct {
	origin.Origin
	Server  string  `json:"redis_version"`
	Go      string  `json:"go"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds,omitempty"` // of a round; 0 if it ends when its work is done
}

// write writes the results to a file, or without a path to out. What the file has of other parts
// stays there.
func (r Results) write(path string, out io.Writer) error {
	var parts map[string]json.RawMessage // of the file
	var old struct{ Recorded map[string]Setting }
	switch text, err := os.ReadFile(path); {
	case path == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := errors.Join(json.Unmarshal(text, &parts), json.Unmarshal(text, &old)); err != nil {
			return fmt.Errorf("%s exists and has no results of this program: %w", path, err)
		}
	}
	for part, setting := range old.Recorded {
		if _, measured := r.Recorded[part]; !measured {
			r.Recorded[part] = setting
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &parts); err != nil { // over the file's
		return err
	}
	if text, err = json.MarshalIndent(parts, "", "  "); err != nil {
		return err
	}
	text = append(text, '\n')
	if path == "" {
		_, err := out.Write(text)
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
