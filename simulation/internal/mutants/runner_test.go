package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program is relinked if the export data of the mutant's package is unchanged.
// Otherwise the linker rejects it and the go tool builds it.
func TestRelink(t *testing.T) {
	source, err := Open(t.Context(), ".")
	require.NoError(t, err)
	var all programs
	const limit = "\tif c.Limit < 0 {\n\t\treturn nil, fmt.Errorf(\"fencing: MemoryConfig.Limit is %d resources, want 1 or more, or 0 for no limit\", c.Limit)\n\t}\n"
	for name, test := range map[string]struct {
		file, old, new string
		relinked       bool
	}{
		"a function":      {"fencing/memory.go", "if c.Limit < 0 {", "if c.Limit < -1 {", true},
		"as many lines":   {"fencing/memory.go", limit, "\n\n\n", true},
		"more lines":      {"fencing/memory.go", "package fencing\n", "package fencing\n\n", false},
		"what it exports": {"fencing/token.go", "type Token uint64", "type Token uint", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &runner{source: source, folder: t.TempDir(), programs: &all}
			raw, err := os.ReadFile(source.path(test.file))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(raw), test.old))
			texts := map[string]string{test.file: strings.Replace(string(raw), test.old, test.new, 1)}
			c.overlay, c.replaced, err = source.overlayOf(texts, c.folder)
			require.NoError(t, err)
			binary := filepath.Join(c.folder, "test")
			err = c.relink(t.Context(), "./fencing", true, binary)
			if test.relinked {
				require.NoError(t, err)
				require.NoError(t, exec.CommandContext(t.Context(), binary, "-test.run", "^$").Run())
				return
			}
			require.ErrorIs(t, err, errNotRelinked)
			require.ErrorContains(t, err, "fingerprint mismatch")
			if name == "what it exports" {
				_, err = c.build(t.Context(), "./fencing", true, true)
				require.NoError(t, err)
			}
		})
	}
}

// The compiler gets the new text of an embedded file, also if a pattern names several files.
func TestRelinkEmbeds(t *testing.T) {
	p := listed{Dir: "/dir", EmbedPatterns: []string{"*.lua", "b.txt"}, EmbedFiles: []string{"a.lua", "b.txt", "c.lua"}}
	r := &runner{replaced: map[string]string{filepath.Join("/dir", "c.lua"): "/new"}}
	path, err := r.embeds(&p, t.TempDir())
	require.NoError(t, err)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"Patterns": {"*.lua": ["a.lua", "c.lua"], "b.txt": ["b.txt"]},
		"Files": {"a.lua": "/dir/a.lua", "b.txt": "/dir/b.txt", "c.lua": "/new"}
	}`, string(raw))

	p.EmbedPatterns, p.EmbedFiles = append(p.EmbedPatterns, "folder"), append(p.EmbedFiles, "folder/d.lua")
	_, err = r.embeds(&p, t.TempDir())
	require.ErrorIs(t, err, errNotRelinked)
}

// The name and the message of a failed test are parsed from its output.
func TestFailure(t *testing.T) {
	for _, test := range []struct{ name, output, test, says string }{
		{"all is well", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n", "", ""},
		{"in a line", "=== RUN   TestA\n    a_test.go:5: an early message\n    a_test.go:7: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\n", "TestA", "got 1, want 2"},
		{"the innermost", `=== RUN   TestA
=== RUN   TestA/sub
    a_test.go:7: 
        	Error Trace:	/somewhere/a_test.go:7
        	            				/somewhere/b_test.go:9
        	Error:      	Not equal: 
        	            	expected: 0x2
        	            	actual  : 0x1
        	Test:       	TestA/sub
        	Messages:   	acquire was granted
--- FAIL: TestA (0.00s)
    --- FAIL: TestA/sub (0.00s)
FAIL
`, "TestA/sub", "Not equal: expected: 0x2 actual : 0x1 acquire was granted"},
		{"a panic", "=== RUN   TestA\n=== RUN   TestA/sub\npanic: runtime error: index out of range\n\ngoroutine 7 [running]:\n", "TestA/sub", "panic: runtime error: index out of range"},
	} {
		name, says := failure(test.output)
		assert.Equal(t, test.test, name, test.name)
		assert.Equal(t, test.says, says, test.name)
	}
}

func TestParse(t *testing.T) {
	groups, err := parse("// a comment\n\n# Time: it passes\n\nearly: scenario S1\nalso: search clocks\n@ mark\n-a\n-\tb\n@ other\n-c\n+d\n\nlate: test ./drift ^TestX$\n@ mark\n-e\n")
	require.NoError(t, err)
	require.Equal(t, []group{{Title: "Time", Intro: "it passes", Mutants: []mutant{
		{Name: "early", Edits: []edit{{"mark", "a\n\tb", ""}, {"other", "c", "d"}}, Detector: Detector{Scenario: "S1"}, Also: []Detector{{Search: "clocks"}}},
		{Name: "late", Edits: []edit{{"mark", "e", ""}}, Detector: Detector{Package: "./drift", Test: "^TestX$"}},
	}}}, groups)
	_, err = parse("# Time: it passes\n\nearly: somebody")
	require.EqualError(t, err, `line 3: "somebody" is no detector, want a scenario, a search, a walk or a test`)
}
