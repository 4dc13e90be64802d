package origin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// folders have the code that an acquisition, an extension and a release run through.
var folders = []string{"drift", "quorum", "quorum/wire", "quorum/internal", "instance", "instance/scripts"}

// Lock is a hash of the lock's files in a checkout. Tests and commands have no part in it.
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
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("origin: %w", err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}
