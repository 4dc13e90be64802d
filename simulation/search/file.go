package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/record"
)

// ErrFile is wrapped by the error for a replay file that can't be used.
var ErrFile = errors.New("search: bad replay file")

// The beginning of a replay file.
const (
	format  = "redlocksim replay"
	version = 2
)

// maxFile bounds the size of a replay file, and maxFaults its schedule.
const (
	maxFile   = 4 << 20
	maxFaults = 2_000
)

// File is a recorded run: its Setup and its result.
type File struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Setup
	// About is the kind of violation that the file was written for, "" for none.
	About record.ViolationKind `json:"about"`
	// Digest is the SHA-256 of the run's trace, in hexadecimal digits.
	Digest string `json:"trace_sha256"`
	// Violations are the findings of the checks.
	Violations []Found `json:"violations"`
}

// Found is a violation in a file.
type Found struct {
	Kind record.ViolationKind `json:"kind"`
	At   time.Duration        `json:"at_ns"`
	Text string               `json:"text"`
}

// Record plays a Setup and makes a File of it.
func Record(r Registry, s Setup, about record.ViolationKind) (File, error) {
	result, err := r.Play(s)
	if err != nil {
		return File{}, err
	}
	f := File{Format: format, Version: version, Setup: s, About: about, Digest: result.Log.Digest(), Violations: found(result)}
	if f.Schedule == nil {
		f.Schedule = simulation.Schedule{}
	}
	if about != "" && !slices.Contains(f.Kinds(), about) {
		return File{}, doesNotShow(about, f.Kinds())
	}
	return f, nil
}

// found is a run's violations, without stacks, which differ from run to run.
func found(r simulation.Result) []Found {
	violations := r.Log.Violations()
	all := make([]Found, len(violations))
	for i, v := range violations {
		text, _, _ := strings.Cut(v.Text, "\n")
		all[i] = Found{Kind: record.ViolationKind(printable(string(v.Kind))), At: v.At, Text: printable(text)}
	}
	return all
}

// Kinds lists the kinds of the file's violations, sorted.
func (f File) Kinds() []record.ViolationKind {
	kinds := make([]record.ViolationKind, len(f.Violations))
	for i, v := range f.Violations {
		kinds[i] = v.Kind
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Encode is the file's text.
func (f File) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	return append(text, '\n'), err
}

// Save writes the file, whole or not at all. It replaces a file or a link at the path.
func (f File) Save(path string) error {
	text, err := f.Encode()
	if err != nil {
		return err
	}
	// Root could replace a device.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("search: %s is not a regular file, and is not replaced", path)
	}
	// The name is random, because a link with a known name would be followed.
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if err = errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// Load reads a file that Save wrote; see Decode.
func Load(r Registry, path string) (File, error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	defer func() { _ = in.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("%w: %s: %w", ErrFile, printable(path), err)
	}
	f, err := Decode(r, text)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", printable(path), err)
	}
	return f, nil
}

// Decode reads a file's text. It must be what Encode wrote, except for white space, and
// name a workload and a design of r.
//
// All errors are ErrFile.
func Decode(r Registry, text []byte) (File, error) {
	f, err := decode(r, text)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, nil
}

func decode(r Registry, text []byte) (File, error) {
	if len(text) > maxFile {
		return File{}, fmt.Errorf("it is longer than %d bytes, and no replay file is", maxFile)
	}
	if err := header(text); err != nil {
		return File{}, err
	}
	var f File
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return File{}, fmt.Errorf("it can't be read: %w; take the file as it was written", err)
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return File{}, fmt.Errorf("there is more after its end, beginning with %.20q; take the file as it was written", rest)
	}
	return f, f.validate(r)
}

// header checks format and version before anything else is read.
func header(text []byte) error {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&head)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is empty, or cut off after %d bytes; get the whole file", len(text))
	case err != nil:
		return fmt.Errorf("it isn't a replay file (%w); pass a file that redlocksim wrote", err)
	case head.Format != format:
		return fmt.Errorf("its format is %q, want %q; pass a file that redlocksim wrote", head.Format, format)
	case head.Version != version:
		return fmt.Errorf("it is of version %d, and only %d can be read here; use the redlocksim that wrote it, or search again", head.Version, version)
	}
	return nil
}

func (f File) validate(r Registry) error {
	if digest, err := hex.DecodeString(f.Digest); err != nil || len(digest) != sha256.Size {
		return fmt.Errorf("its trace_sha256 is %.16q, want %d hexadecimal digits", f.Digest, 2*sha256.Size)
	}
	if len(f.Schedule) > maxFaults {
		return fmt.Errorf("its schedule has %d faults, want at most %d", len(f.Schedule), maxFaults)
	}
	// This comes before any output: no recorded file has control characters, which a
	// terminal would execute.
	var texts []string
	for _, v := range f.Violations {
		texts = append(texts, string(v.Kind), v.Text)
	}
	for _, fault := range f.Schedule {
		texts = append(texts, fault.Key)
	}
	for _, text := range texts {
		if printable(text) != text {
			return fmt.Errorf("it has %q, with characters that can't be printed; use another key, or take the file as it was written", text)
		}
	}
	if f.About != "" && !slices.Contains(f.Kinds(), f.About) {
		return fmt.Errorf("it is about %q, which isn't among its violations %q", f.About, f.Kinds())
	}
	return r.validate(f.Setup)
}

// printable replaces the characters that can't be printed.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Replay is the result of playing a File again.
type Replay struct {
	simulation.Result
	// Identical says that the trace is the recorded one, byte for byte.
	Identical bool
	// SameKinds says that the kinds of violations are the same.
	SameKinds bool
}

// Replay plays a File's Setup again and compares. If ctx ends, the error Is that of ctx.
func (f File) Replay(ctx context.Context, r Registry) (Replay, error) {
	result, err := r.playContext(ctx, f.Setup)
	if err != nil {
		return Replay{}, err
	}
	return Replay{Result: result, Identical: result.Log.Digest() == f.Digest, SameKinds: slices.Equal(result.Kinds(), f.Kinds())}, nil
}
