package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/record"
	"github.com/redquorum/redlock/simulation/search"
)

// recorded is a file with a violation.
func recorded(t testing.TB) search.File {
	t.Helper()
	s := setup("forgetful")
	s.Seed = 3
	s.Schedule = simulation.Schedule{{Kind: fault.Hang, Server: "A", At: 5e8, For: 1e9}}
	servers := 3
	s.Changes.Servers = &servers
	f, err := search.Record(registry(), s, record.TwoHolders)
	require.NoError(t, err)
	return f
}

func TestFileRoundTrip(t *testing.T) {
	f := recorded(t)
	path := filepath.Join(t.TempDir(), "replay.json")
	require.NoError(t, f.Save(path))
	read, err := search.Load(registry(), path)
	require.NoError(t, err)
	assert.Equal(t, f, read)
	replay, err := read.Replay(t.Context(), registry())
	require.NoError(t, err)
	assert.True(t, replay.Identical)
	assert.True(t, replay.SameKinds)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing temporary is left")

	// Space between the words doesn't matter.
	text, err := f.Encode()
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, text))
	_, err = search.Decode(registry(), compact.Bytes())
	require.NoError(t, err)
}

// encoded is a file after a change.
func encoded(t testing.TB, change func(*search.File)) []byte {
	t.Helper()
	f := recorded(t)
	change(&f)
	text, err := f.Encode()
	require.NoError(t, err)
	return text
}

func TestBadFiles(t *testing.T) {
	good := encoded(t, func(*search.File) {})
	_, err := search.Decode(registry(), good)
	require.NoError(t, err)
	edit := func(old, replacement string) []byte {
		require.Contains(t, string(good), old)
		return bytes.Replace(good, []byte(old), []byte(replacement), 1)
	}
	zero, many := 0, 1<<40
	for name, test := range map[string]struct {
		text []byte
		says string
	}{
		"empty":              {nil, "it is empty"},
		"blank":              {[]byte("\n \n"), "it is empty"},
		"cut off":            {good[:len(good)/2], "cut off after"},
		"cut off at the end": {good[:len(good)-3], "cut off after"},
		"binary":             {[]byte{0, 1, 2, 0xff}, "it isn't a replay file"},
		"other JSON":         {[]byte("[1, 2]"), "it isn't a replay file"},
		"another format":     {edit(`"redlocksim replay"`, `"something else"`), `its format is "something else"`},
		"another version":    {edit(`"version": 2`, `"version": 1`), "it is of version 1, and only 2 can be read here"},
		"unknown field":      {edit(`"version": 2`, `"version": 2, "verdict": "fine"`), `unknown field "verdict"`},
		"wrong type":         {edit(`"seed": 3`, `"seed": "3"`), "cannot unmarshal string"},
		"something behind":   {append(bytes.Clone(good), " {}"...), `there is more after its end, beginning with "{}"`},
		"too long":           {append(bytes.Clone(good), bytes.Repeat([]byte(" "), 5<<20)...), "longer than"},
		"unknown workload":   {encoded(t, func(f *search.File) { f.Workload = "S99" }), `there is no workload "S99"`},
		"unknown design":     {encoded(t, func(f *search.File) { f.Design = "paper" }), `there is no design "paper"`},
		"escapes in a fault": {encoded(t, func(f *search.File) { f.Schedule[0].Kind = "\x1b[2J" }), `no such kind "\x1b[2J"`},
		"unknown server":     {encoded(t, func(f *search.File) { f.Schedule[0].Server = "E" }), `its Server is "E"`}, // of three
		"absurd time":        {encoded(t, func(f *search.File) { f.Schedule[0].At = 1 << 62 }), "its At"},
		"absurd servers":     {encoded(t, func(f *search.File) { f.Changes.Servers = &many }), "servers is 1099511627776"},
		"no processes":       {encoded(t, func(f *search.File) { f.Changes.Processes = &zero }), "processes is 0"},
		"absurd rounds":      {encoded(t, func(f *search.File) { f.Changes.Rounds = &many }), "rounds is"},
		"absurd digest":      {encoded(t, func(f *search.File) { f.Digest = "x" }), `its trace_sha256 is "x"`},
		"too many faults":    {encoded(t, func(f *search.File) { f.Schedule = make(simulation.Schedule, 2_001) }), "2001 faults"},
		"escapes in a kind":  {encoded(t, func(f *search.File) { f.Violations[0].Kind = "\x1b]0;x\a"; f.About = "" }), `"\x1b]0;x\a"`},
		"escapes in a text":  {encoded(t, func(f *search.File) { f.Violations[0].Text = "\x1b[2J" }), `"\x1b[2J", with characters that can't be printed`},
		"escapes in a key": {encoded(t, func(f *search.File) {
			f.Schedule[0] = fault.Fault{Kind: fault.Evict, Server: "A", Key: "k\x1b[2J"}
		}), `it has "k\x1b[2J"`},
		"about nothing": {encoded(t, func(f *search.File) { f.About = record.Stuck }), `it is about "stuck"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := search.Decode(registry(), test.text)
			require.ErrorIs(t, err, search.ErrFile)
			assert.ErrorContains(t, err, test.says)
			assert.NotContains(t, err.Error(), "\x1b", "a terminal would execute it")
		})
	}
	_, err = search.Load(registry(), filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, search.ErrFile)
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(path, good[:50], 0o600))
	_, err = search.Load(registry(), path)
	require.ErrorIs(t, err, search.ErrFile)
	assert.ErrorContains(t, err, path)
	path += "\x1b[2J"
	require.NoError(t, os.WriteFile(path, good[:50], 0o600))
	_, err = search.Load(registry(), path)
	assert.ErrorContains(t, err, "bad.json\uFFFD[2J: ")
}

func TestRecordNeedsWhatItIsAbout(t *testing.T) {
	_, err := search.Record(registry(), setup("default"), record.TwoHolders)
	require.ErrorIs(t, err, search.ErrSetup)
	f, err := search.Record(registry(), setup("default"), "")
	require.NoError(t, err)
	assert.Empty(t, f.Violations)
	text, err := f.Encode()
	require.NoError(t, err)
	_, err = search.Decode(registry(), text)
	require.NoError(t, err)
	assert.Error(t, f.Save(filepath.Join(t.TempDir(), "no", "such", "folder")))
}

// Whatever a file contains, reading it gives a file or ErrFile.
func FuzzDecode(f *testing.F) {
	good := encoded(f, func(*search.File) {})
	for _, seed := range [][]byte{good, good[:len(good)/2], []byte("{}"), []byte(`{"format":"redlocksim replay","version":2}`), []byte("null"), nil} {
		f.Add(seed)
	}
	r := registry()
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := search.Decode(r, text)
		if err != nil {
			require.ErrorIs(t, err, search.ErrFile)
			return
		}
		again, err := file.Encode()
		require.NoError(t, err)
		same, err := search.Decode(r, again)
		require.NoError(t, err)
		require.Equal(t, file, same)
	})
}

// A file under a temporary name that can be guessed stays unchanged, and a link at the path is
// replaced, not followed.
func TestSaveFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "replay.json")
	require.NoError(t, os.WriteFile(other, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(other, path+".tmp"))
	require.NoError(t, os.Symlink(other, path))
	require.NoError(t, recorded(t).Save(path))
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "precious", string(text))
	at, err := os.Lstat(path)
	require.NoError(t, err)
	assert.True(t, at.Mode().IsRegular(), "%v", at.Mode())
	_, err = search.Load(registry(), path)
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "nothing of its own is left: %v", entries)

	require.Error(t, recorded(t).Save(filepath.Join(dir, "nowhere", "replay.json")))
}

// The text of violations in a user's code may be anything.
func TestWhatCannotBePrintedIsEscaped(t *testing.T) {
	r := registry()
	r.Workloads[0].Judge = func(_ search.Setup, result simulation.Result) simulation.Result {
		return result.With(record.Violation{Kind: "mine", At: result.Ended, Text: "\x1b[2J\u202e \xff, and a tab\t"})
	}
	s := setup("forgetful")
	s.Workload = r.Workloads[0].Name
	f, err := search.Record(r, s, "mine")
	require.NoError(t, err)
	text, err := f.Encode()
	require.NoError(t, err)
	f, err = search.Decode(r, text)
	require.NoError(t, err)
	assert.Equal(t, "\uFFFD[2J\uFFFD \uFFFD, and a tab\uFFFD", f.Violations[len(f.Violations)-1].Text)
}

// A replay ends with its context.
func TestReplayIsInterrupted(t *testing.T) {
	f := recorded(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Replay(ctx, registry())
	require.ErrorIs(t, err, context.Canceled)

	// During a run: the workload ends the context, and would otherwise continue forever.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	_, err = simulation.RunContext(ctx, 1, simulation.Config{Horizon: 1 << 62, MaxEvents: 1 << 40}, nil, func(c *simulation.Client) {
		for c.Sleep(time.Second); ; c.Sleep(time.Second) {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted after 1s of virtual time")
}
