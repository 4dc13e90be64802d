// Package browser has the page on which the simulation runs in a browser: its files, which are
// embedded, and the engine, which the local Go toolchain builds.
package browser

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/internal/play"
)

//go:embed files
var embedded embed.FS

// ErrNoToolchain: the engine can't be built, because there is no Go toolchain.
var ErrNoToolchain = errors.New("the page's engine is built with the go command, which isn't in the PATH; install Go from https://go.dev/dl")

const library = "github.com/redquorum/redlock"

// engine is the program that runs in the worker.
const engine = library + "/simulation/internal/play/engine"

// Policy is the page's Content-Security-Policy: everything comes from the page's own host.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"

// Files are the page's files by their names. They work in every folder of every host.
type Files map[string][]byte

// Build builds the engine and returns all files. Before it builds, it says so on progress. It needs the go command; without it the error
// Is ErrNoToolchain. The engine is built in a folder of this module or of one that requires it. In other folders the running program must
// have a released version, whose source the go command fetches.
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
	source, in, err := sources(ctx, goCommand)
	if err != nil {
		return nil, err
	}
	if files["chapters.json"], err = chapters(source); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "redlocksim-play-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	built := filepath.Join(folder, "engine.wasm")
	// Inlined functions would make the download an eighth larger, and the first run slower: more has
	// to be compiled for it.
	build := exec.CommandContext(ctx, goCommand, "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", built, engine)
	build.Dir, build.Env = in, append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	_, _ = fmt.Fprintln(progress, "building the page's engine; the first time this takes half a minute") // nothing depends on it
	if _, err := output(build); err != nil {
		return nil, fmt.Errorf("the page's engine can't be built: %w", err)
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return nil, err
	}
	files["engine.wasm.gz"], err = compressed(program)
	return files, err
}

// sources returns the folder of this module's source, and the one in which the engine is built, "" for the current one.
func sources(ctx context.Context, goCommand string) (source, in string, err error) {
	folder, err := output(exec.CommandContext(ctx, goCommand, "list", "-f", "{{.Module.Dir}}", path.Dir(engine))) // the engine itself is for js alone
	if err == nil {
		return strings.TrimSpace(folder), "", nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != library || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "", "", fmt.Errorf("the source of the page's engine can't be found; run this in a checkout of the library, in a module that requires it, or install it by go install: %w", err)
	}
	// Installed with go install, which has had it: it is in the module cache.
	text, err := output(exec.CommandContext(ctx, goCommand, "mod", "download", "-json", library+"@"+info.Main.Version))
	if err != nil {
		return "", "", fmt.Errorf("the source of %s, from which the page's engine is built, can't be fetched: %w", info.Main.Version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return "", "", err
	}
	return module.Dir, module.Dir, nil
}

// compressed is data in the form of gzip, which browsers decompress.
func compressed(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// first are the requests that the page makes when it is opened without a choice in its address.
var first = []string{
	`{"do":"list"}`,
	`{"do":"run","base":"S1","design":"default","seed":"0","schedule":null}`,
}

// prepared is the answers to the first requests by the requests' texts.
func prepared() ([]byte, error) {
	answers := map[string]json.RawMessage{}
	if len(designs.Registered()) > 0 {
		return compressed([]byte("{}")) // the engine doesn't have them, so that its answers are others
	}
	for _, request := range first {
		answers[request] = play.Answer([]byte(request))
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	return compressed(text)
}

// static returns the files that need no toolchain.
func static() (Files, error) {
	files := Files{"drawing.css": []byte(drawing.Page())}
	entries, err := fs.ReadDir(embedded, "files")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if files[e.Name()], err = embedded.ReadFile(path.Join("files", e.Name())); err != nil {
			return nil, err
		}
	}
	if files["prepared.json.gz"], err = prepared(); err != nil {
		return nil, err
	}
	var modules strings.Builder // which the page's script imports
	for _, e := range entries {
		if name := e.Name(); path.Ext(name) == ".js" && !slices.Contains([]string{"page.js", "worker.js"}, name) {
			fmt.Fprintf(&modules, "<link rel=\"modulepreload\" href=\"%s\">\n", name)
		}
	}
	page := string(files["index.html"])
	for _, part := range [][2]string{{"{{policy}}", Policy}, {"{{modules}}", modules.String()}} {
		page = strings.ReplaceAll(page, part[0], part[1])
	}
	files["index.html"] = []byte(page)
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
	header.Set("Content-Type", cmp.Or(types[path.Ext(name)], "application/octet-stream"))
	header.Set("Cache-Control", "no-store") // the next start may build another engine
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// types are the content types by extension. Those of the system may be others.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".gz":   "application/gzip", // not an encoding: the page decompresses it
}
