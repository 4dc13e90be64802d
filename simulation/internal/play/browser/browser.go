// Package browser has the page on which the simulation runs in a browser: its files, which are
// embedded, and the engine, which the local Go toolchain builds.
package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redquorum/redlock/simulation/internal/drawing"
)

//go:embed files
var embedded embed.FS

// ErrNoToolchain: the engine can't be built, because there is no Go toolchain.
var ErrNoToolchain = errors.New("the page's engine is built with the go command, which isn't in the PATH; install Go from https://go.dev/dl")

// engine is the program that runs in the worker.
const engine = "github.com/redquorum/redlock/simulation/internal/play/engine"

// Build builds the engine, and then writes the page's files into a folder, which is created if it is missing. They work
// in every folder of every host. Before it builds, it says so on progress. It needs the go command; without it the error Is
// ErrNoToolchain. The current folder has to be in this module, or in one that requires it.
func Build(ctx context.Context, folder string, progress io.Writer) error {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return ErrNoToolchain
	}
	root, err := output(exec.CommandContext(ctx, goCommand, "env", "GOROOT"))
	if err != nil {
		return err
	}
	files := map[string][]byte{"drawing.css": []byte(drawing.Page())}
	// It belongs to the toolchain that builds the engine.
	if files["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js")); err != nil {
		return fmt.Errorf("the Go toolchain has no support of WebAssembly: %w", err)
	}
	if files["contents.json"], err = contents(); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "redlocksim-engine-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	built := filepath.Join(temporary, "engine.wasm")
	// Inlined functions would make the download an eighth larger, and the first run slower: more has
	// to be compiled for it.
	build := exec.CommandContext(ctx, goCommand, "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-l", "-ldflags=-s -w", "-o", built, engine)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	_, _ = fmt.Fprintln(progress, "building the page's engine; the first time this takes half a minute") // nothing depends on it
	if _, err := output(build); err != nil {
		return fmt.Errorf("the page's engine can't be built; run this in a checkout of the library, or in a module that requires it: %w", err)
	}
	if files["engine.wasm.gz"], err = compress(built); err != nil {
		return err
	}
	return write(folder, files)
}

// write writes the page's own files and others into a folder.
func write(folder string, others map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	entries, err := embedded.ReadDir("files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if others[e.Name()], err = embedded.ReadFile("files/" + e.Name()); err != nil {
			return err
		}
	}
	for name, content := range others {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compress returns a file in the form of gzip, which the page decompresses. Few servers compress such large files on
// their own.
func compress(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that exists
	_, _ = w.Write(data)                                    // a Buffer takes everything
	_ = w.Close()
	return out.Bytes(), nil
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

// Handler serves a folder with the page's files.
func Handler(folder string) http.Handler {
	files := http.FileServer(http.Dir(folder))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "frame-ancestors 'none'") // the rest is in index.html
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store") // the next start may build another engine
		files.ServeHTTP(w, r)
	})
}
