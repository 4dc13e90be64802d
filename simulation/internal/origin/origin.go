// Package origin says what a recording is of: which commit, which lock, when, and on which machine. So a page can say
// whether a recorded measurement is of today's lock.
package origin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"
)

// Origin is what a recording is of.
type Origin struct {
	Commit string `json:"commit,omitempty"` // see Commit
	Lock   string `json:"lock,omitempty"`   // see Lock
	Date   string `json:"date,omitempty"`   // as time.DateOnly
	CPU    string `json:"cpu,omitempty"`    // its model, empty where the system doesn't tell it
	Cores  int    `json:"cores"`
}

// Of is the origin of what is recorded now, in a checkout.
func Of(ctx context.Context, root string) (Origin, error) {
	lock, err := Lock(root)
	return Origin{
		Commit: Commit(ctx, root), Lock: lock, Date: time.Now().UTC().Format(time.DateOnly), CPU: cpu(), Cores: runtime.NumCPU(),
	}, err
}

// Commit is what a checkout has, "unknown" without git.
func Commit(ctx context.Context, root string) string {
	commit, _ := exec.CommandContext(ctx, "git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output() // "" without git
	return cmp.Or(strings.TrimSpace(string(commit)), "unknown")
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
}

// files are the code that an acquisition, an extension and a release run through.
var files = []string{"drift/*.go", "quorum/*.go", "quorum/wire/*.go", "quorum/internal/*/*.go", "instance/*.go", "instance/scripts/*.lua"}

// Lock is a hash of the lock's files in a checkout. Tests, commands and comments have no part in it.
func Lock(root string) (string, error) {
	sum, tree := sha256.New(), os.DirFS(root)
	for _, pattern := range files {
		names, _ := fs.Glob(tree, pattern) // an error is a bad pattern
		if len(names) == 0 {
			return "", fmt.Errorf("origin: there is no %s in %s", pattern, root)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return "", fmt.Errorf("origin: %w", err)
			}
			if path.Ext(name) == ".go" {
				text = withoutComments(text)
			}
			fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
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
