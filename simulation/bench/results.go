package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"

	"github.com/redquorum/redlock/simulation/internal/origin"
)

// Results are the results of all measurements.
type Results struct {
	Parts map[string][]Row `json:"parts"`
	// Recorded says how each part was measured.
	Recorded map[string]Setting `json:"recorded"`
}

// Row is what was measured of a case.
type Row struct {
	Case
	Figures figures `json:"figures"` // medians of the rounds
	// Ratios are those to the case with which it is compared, by the figure.
	Ratios map[string]Ratio `json:"ratios"`
}

// Setting is how a part was measured.
type Setting struct {
	origin.Origin
	Server  string  `json:"server"`
	Go      string  `json:"go"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"` // of a measurement
}

// write writes the results to a file, or without a path to out. What the file has of other parts
// stays there.
func (r Results) write(path string, out io.Writer) error {
	all := Results{Parts: map[string][]Row{}, Recorded: map[string]Setting{}}
	switch text, err := os.ReadFile(path); {
	case path == "" || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s exists and has no results of this program: %w", path, err)
		}
	}
	maps.Copy(all.Parts, r.Parts)
	maps.Copy(all.Recorded, r.Recorded)
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if path == "" {
		_, err := out.Write(text)
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
