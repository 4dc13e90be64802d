package book_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// retired are words that this repository once used in a sense of its own, with the field's words
// for what they meant. They are neither in declared names and comments nor on pages.
var retired = map[string]string{
	"ear": "subscription", "ears": "subscriptions", "deaf": "cannot notify", "uncalled": "cannot notify",
	"hear": "be notified", "hears": "is notified", "hearing": "subscriber",
	"enlist": "enqueue", "enlists": "enqueues", "enlisted": "enqueued", "parked": "waiting",
	"ticket": "position", "tickets": "positions", "gift": "hand-off", "heir": "successor", "heirs": "successors",
	"debt": "pending delete", "debts": "pending deletes", "owe": "pending delete", "owes": "pending delete", "owed": "pending",
	"chase": "repeat", "chases": "repeats", "chased": "repeated",
	"spot": "slot", "spots": "slots", "seat": "participant", "seats": "participants",
	"errand": "request", "errands": "requests", "returner": "reply handler", "aboard": "in the batch",
	"court": "runner", "trial": "run", "trials": "runs", "hasty": "unoptimized",
	"janitor": "cleanup", "janitors": "cleanup", "crew": "workers",
	"for ever": "forever", "time-out": "timeout", "time-outs": "timeouts", "mend": "fix", "mends": "fixes",
}

var (
	wordInText = regexp.MustCompile(`\bfor ever\b|\btime-outs?\b|[a-z]+`)
	wordInName = regexp.MustCompile(`[A-Z]?[a-z]+`)
	guardName  = regexp.MustCompile(`guard:\S+`)
)

func TestGlossary(t *testing.T) {
	say := func(where string, words []string) {
		for _, word := range words {
			if better, is := retired[strings.ToLower(word)]; is {
				t.Errorf("%s has the word %q, say %q", where, word, better)
			}
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				return false // declared elsewhere
			case *ast.Ident:
				say(set.Position(n.Pos()).String(), wordInName.FindAllString(n.Name, -1))
			}
			return true
		})
		for _, group := range file.Comments {
			text := strings.ToLower(guardName.ReplaceAllString(group.Text(), ""))
			say(set.Position(group.Pos()).String(), wordInText.FindAllString(text, -1))
		}
		return nil
	}))
	require.Greater(t, files, 100)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := quotation.ReplaceAllString(withoutCode(generatedPart.ReplaceAllString(string(text), "")), "")
		say(page, wordInText.FindAllString(strings.ToLower(prose), -1))
	}
}
