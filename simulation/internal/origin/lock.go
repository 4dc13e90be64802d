package origin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
)

// folders have the code that an acquisition, an extension and a release run through.
var folders = []string{"drift", "quorum", "quorum/wire", "quorum/internal", "instance", "instance/scripts"}

// Lock is a hash of the lock's files in a checkout. Tests, commands and comments have no part in it.
func Lock(root string) (string, error) {
	sum, tree := sha256.New(), os.DirFS(root)
	for _, folder := range folders {
		err := fs.WalkDir(tree, folder, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != folder && folder != "quorum/internal":
				return fs.SkipDir
			case entry.IsDir() || strings.HasSuffix(name, "_test.go") || path.Ext(name) != ".go" && path.Ext(name) != ".lua":
				return nil
			}
			text, err := fs.ReadFile(tree, name)
			if path.Ext(name) == ".go" {
				text = withoutComments(text)
			}
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("origin: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// withoutComments has the tokens of a Go file, one a line.
func withoutComments(text []byte) []byte {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), text, nil, 0)
	var b bytes.Buffer
	for _, kind, literal := s.Scan(); kind != token.EOF; _, kind, literal = s.Scan() {
		fmt.Fprintln(&b, kind, literal)
	}
	return b.Bytes()
}
