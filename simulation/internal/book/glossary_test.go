package book_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// retired are words that this repository once used in a sense of its own, and the field's
// words for what they meant. They appear neither in identifiers nor in comments. A space
// makes a phrase, which is looked for in comments only.
var retired = map[string]string{
	"ear": "subscription", "ears": "subscriptions",
	"hear": "be notified", "hears": "is notified", "heard": "notified", "hearing": "subscriber", "deaf": "cannot notify", "uncalled": "cannot notify",
	"enlist": "enqueue", "enlists": "enqueues", "enlisted": "enqueued",
	"ticket": "position", "tickets": "positions",
	"parked": "waiting", "gift": "hand-off", "heir": "successor", "heirs": "successors",
	"debt": "pending delete", "debts": "pending deletes", "owe": "pending delete", "owes": "pending delete", "owed": "pending",
	"chase": "repeat", "chases": "repeats", "chased": "repeated",
	"spot": "slot", "spots": "slots", "seat": "participant", "seats": "participants",
	"errand": "request", "errands": "requests", "returner": "reply handler",
	"aboard": "in the batch", "sick": "overdue",
	"court": "runner", "trial": "run", "trials": "runs", "hasty": "unoptimized",
	"janitor": "cleanup", "janitors": "cleanup", "crew": "workers",
	"for ever": "forever", "time-out": "timeout", "time-outs": "timeouts",
}

// exempt are the packages, by folder, in which a retired word has its plain meaning, and why.
var exempt = map[string]map[string]string{
	"simulation/bench": {"sick": "servers that are out of order"},
}

// Identifiers and comments use the field's words.
func TestGlossary(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel("..", filepath.Dir(path))
		dir = filepath.ToSlash(dir)
		for _, u := range retiredIn(file) {
			if _, ok := exempt[dir][u.word]; ok {
				continue
			}
			t.Errorf("%s: %s has the word %q, say %q", set.Position(u.pos), u.in, u.word, retired[u.word])
		}
		return nil
	}))
	require.Greater(t, files, 100)
}

// use is a use of a retired word.
type use struct {
	pos      token.Pos
	in, word string
}

// retiredIn lists the retired words in a file's declared identifiers and in its comments.
func retiredIn(file *ast.File) (uses []use) {
	name := func(id *ast.Ident) {
		for _, word := range camelWords(id.Name) {
			if _, ok := retired[word]; ok {
				uses = append(uses, use{id.Pos(), id.Name, word})
			}
		}
	}
	names := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok {
				name(id)
			}
		}
	}
	name(file.Name)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				names(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				names(n.Key, n.Value)
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List {
			text := strings.ToLower(strings.Trim(comment.Text, "/* "))
			if _, sentence, ok := strings.Cut(text, "guard:"); ok {
				_, text, _ = strings.Cut(sentence, " ") // the name is an identifier of the mutants'
			}
			for _, word := range slices.Sorted(maps.Keys(retired)) {
				if hasWord(text, word) {
					uses = append(uses, use{comment.Pos(), "a comment", word})
				}
			}
		}
	}
	return uses
}

// camelWords splits an identifier: "newURLTable" is "new", "url" and "table".
func camelWords(name string) []string {
	var words []string
	runes, start := []rune(name), 0
	end := func(i int) {
		if i > start {
			words = append(words, strings.ToLower(string(runes[start:i])))
		}
		start = i
	}
	for i, r := range runes {
		switch {
		case r == '_':
			end(i)
			start = i + 1
		case unicode.IsUpper(r) && (i == 0 || !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end(i)
		}
	}
	end(len(runes))
	return words
}

var wordBounds = map[string]*regexp.Regexp{}

// hasWord reports whether a text in lower case has the word, or the phrase.
func hasWord(text, word string) bool {
	if !strings.Contains(text, word) {
		return false
	}
	if wordBounds[word] == nil {
		wordBounds[word] = regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(word) + `(?:$|[^\w-])`)
	}
	return wordBounds[word].MatchString(text)
}

func TestRetiredIn(t *testing.T) {
	const text = `// Package p hears.
package p

// A has an ear, and earns nothing. It lives for ever.
type A struct{ debtList int }

//guard:delete-stays-pending  a delete stays pending
func newEar(heirs ...int) {
	for seat := range heirs {
		spot := seat // parked
		_ = spot
	}
}

var searches, _URLErrand = 1, 2
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	var words []string
	for _, u := range retiredIn(file) {
		words = append(words, u.word)
	}
	assert.Equal(t, []string{"debt", "ear", "heirs", "seat", "spot", "errand", "hears", "ear", "for ever", "parked"}, words)
	assert.Equal(t, []string{"new", "url", "table", "of", "x"}, camelWords("newURLTable_ofX"))
}
