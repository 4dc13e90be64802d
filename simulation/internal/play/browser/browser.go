// Package browser has the page on which the simulation runs in a browser: its files, which are
// embedded, and the engine, which the local Go toolchain builds.
package browser

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/timeline/palette"
)

//go:embed files
var embedded embed.FS

// ErrNoToolchain: the engine can't be built, because there is no Go toolchain.
var ErrNoToolchain = errors.New("the page's engine is built with the go command, which isn't in the PATH; install Go from https://go.dev/dl")

// engine is the program that runs in the worker.
const engine = "github.com/redquorum/redlock/simulation/internal/play/engine"

// Policy is the page's Content-Security-Policy: everything comes from the page's own host.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"

// Files are the page's files by their names. They work in every folder of every host.
type Files map[string][]byte

// Build builds the engine and returns all files. Before it builds, it says so on progress. It needs the go command, in a folder of this
// module or of one that requires it; without the command the error Is ErrNoToolchain.
func Build(ctx context.Context, progress io.Writer) (Files, error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return nil, ErrNoToolchain
	}
	files, err := static()
	if err != nil {
		return nil, err
	}
	root, err := output(exec.CommandContext(ctx, goCommand, "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	// It belongs to the toolchain that builds the engine.
	if files["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js")); err != nil {
		return nil, fmt.Errorf("the Go toolchain has no support of WebAssembly: %w", err)
	}
	folder, err := os.MkdirTemp("", "redlocksim-play-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	built := filepath.Join(folder, "engine.wasm")
	build := exec.CommandContext(ctx, goCommand, "build", "-trimpath", "-ldflags=-s -w", "-o", built, engine)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	_, _ = fmt.Fprintln(progress, "building the page's engine; the first time this takes half a minute") // nothing depends on it
	if _, err := output(build); err != nil {
		return nil, fmt.Errorf("the page's engine can't be built; run this in a checkout of the library, or in a module that requires it: %w", err)
	}
	files["engine.wasm"], err = os.ReadFile(built)
	return files, err
}

// static returns the files that need no toolchain.
func static() (Files, error) {
	files := Files{"palette.css": []byte(palette.CSS(":root"))}
	entries, err := fs.ReadDir(embedded, "files")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if files[e.Name()], err = embedded.ReadFile(path.Join("files", e.Name())); err != nil {
			return nil, err
		}
	}
	files["index.html"] = bytes.ReplaceAll(files["index.html"], []byte("{{policy}}"), []byte(Policy))
	return files, nil
}

// output runs a command. Its error has what the command has written.
func output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// Write writes all files into a folder, which is created if it is missing.
func (f Files) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range f {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ServeHTTP serves the files.
func (f Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	content, ok := f[name]
	header := w.Header()
	header.Set("Content-Security-Policy", Policy+"; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	header.Set("Content-Type", typeOf(name))
	header.Set("Cache-Control", "no-store") // the next start may build another engine
	header.Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // the browser may have left
	}
}

// typeOf returns a file's type, whatever the machine's own table says.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".wasm":
		return "application/wasm"
	}
	return "application/octet-stream"
}
