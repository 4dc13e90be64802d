package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func init() { generators["file"] = fileBlock }

// fileBlock gives a file of this folder as a whole.
func fileBlock(words []string) (string, error) {
	if len(words) != 1 {
		return "", fmt.Errorf("want a file, got %q", words)
	}
	text, err := os.ReadFile(filepath.FromSlash(words[0]))
	return "```" + strings.TrimPrefix(filepath.Ext(words[0]), ".") + "\n" + string(text) + "```", err
}
