package browser_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/internal/long"
	"github.com/redquorum/redlock/simulation/internal/play"
	"github.com/redquorum/redlock/simulation/internal/play/browser"
)

// folder is where the page's files are, see built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "page"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

var build = sync.OnceValue(func() error { return browser.Build(context.Background(), folder, io.Discard) })

// built returns the folder with the page's files, which are built once, and nowhere else in the tests: the
// engine's packages and the standard library are compiled for another architecture.
func built(t *testing.T) string {
	t.Helper()
	long.Test(t, "it compiles the page's engine")
	require.NoError(t, build())
	return folder
}

// read reads all files of a folder.
func read(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
	}
	return files
}

// The page has what it names, nothing is from elsewhere, and no script or style is in its text.
func TestFilesAreComplete(t *testing.T) {
	t.Parallel() // it waits for the compiler
	served := httptest.NewRecorder()
	browser.Handler(built(t)).ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	policy, _, _ := strings.Cut(served.Header().Get("Content-Security-Policy"), "; frame-ancestors")
	files := read(t, folder)
	page := string(files["index.html"])
	assert.Contains(t, page, `content="`+policy+`"`)
	assert.NotContains(t, files, "engine.wasm", "only the compressed one")
	for name := range files {
		if strings.HasSuffix(name, ".js") && !slices.Contains([]string{"page.js", "worker.js", "wasm_exec.js"}, name) {
			assert.Contains(t, page, `modulepreload" href="`+name+`"`)
		}
	}
	names := regexp.MustCompile(`(?:src|href|from|import|load\(|fetch\(|new URL\()[=( ]?"([^"]+)"`)
	seen := 0
	for name, text := range files {
		if strings.HasSuffix(name, ".gz") || name == "wasm_exec.js" || name == "chapters.json" { // which links to the debate's sources
			continue
		}
		assert.NotRegexp(t, `https?://`, strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), name)
		for _, found := range names.FindAllStringSubmatch(string(text), -1) {
			if named := strings.TrimPrefix(found[1], "./"); !strings.HasPrefix(named, "#") {
				seen++
				assert.NotEmpty(t, files[named], "%s names %s", name, named)
			}
		}
	}
	assert.Greater(t, seen, 8)
	assert.NotRegexp(t, `<script>|<style|style=|onclick`, page)
	assert.NotRegexp(t, `transition|animation|@keyframes|scroll-behavior`, string(files["style.css"]), "nothing moves on its own")

	size := 0 // compressed
	for name, content := range files {
		if strings.HasSuffix(name, ".gz") {
			size += len(content)
			continue
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(content)
		require.NoError(t, errors.Join(err, w.Close()))
		size += packed.Len()
	}
	assert.Less(t, size, 2_200_000, "look at what the engine imports before you raise it")
}

func TestServe(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"index.html": "<p>", "engine.wasm.gz": "x", "page.js": "1"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		browser.Handler(folder).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return w
	}
	r := get("/")
	assert.Equal(t, http.StatusOK, r.Code)
	assert.Equal(t, "text/html; charset=utf-8", r.Header().Get("Content-Type"))
	assert.Contains(t, r.Header().Get("Content-Security-Policy"), "default-src 'none'")
	assert.Equal(t, "application/gzip", get("/engine.wasm.gz").Header().Get("Content-Type"))
	assert.Equal(t, "text/javascript; charset=utf-8", get("/page.js").Header().Get("Content-Type"))
	assert.Equal(t, http.StatusNotFound, get("/../browser.go").Code)
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.ErrorIs(t, browser.Build(t.Context(), t.TempDir(), io.Discard), browser.ErrNoToolchain)
}

// The first picture is in the page: it comes without the engine, and is the one of native code.
// What isn't prepared needs the engine.
func TestTheFirstPictureNeedsNoEngine(t *testing.T) {
	t.Parallel() // it waits for the compiler
	files := browser.Handler(built(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/engine.wasm.gz" {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := newChromium(t)
	c.open(server.URL+"/", 1400, false)
	c.shows(played(t, play.Setup{Base: "S1", Design: "default"}))
	c.set("#seed", "1")
	c.until(`document.querySelector("#error").textContent.includes("The engine can't be loaded: Error: engine.wasm.gz: 404")`)
}

// The page in a browser: it plays, a change of a fault plays again, the address is the run, and the
// hash is that of native code. It is below a folder of its host, which says of a .gz file that it is
// encoded, as some servers do, so that the browser decompresses it first.
func TestPage(t *testing.T) {
	t.Parallel() // it waits for the compiler
	files := browser.Handler(built(t))
	server := httptest.NewServer(http.StripPrefix("/some/folder", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".gz") {
			w.Header().Set("Content-Encoding", "gzip")
		}
		files.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	c := newChromium(t)
	c.open(server.URL+"/some/folder/", 1400, false)
	c.shows(played(t, play.Setup{Base: "S1", Design: "default"}))

	// Another lock.
	c.set("#design", "token-admit")
	run := played(t, play.Setup{Base: "S1", Design: "token-admit"})
	c.shows(run)

	// A shorter pause, and then none.
	c.set("[name=for_ns-0]", "3")
	shorter := play.Setup{Base: "S1", Design: "token-admit", Schedule: append(simulation.Schedule{}, run.Schedule...)}
	shorter.Schedule[0].For = 3_000_000
	c.shows(played(t, shorter))
	arguments, err := shorter.Arguments()
	require.NoError(t, err)
	assert.Equal(t, "go run ./simulation/cmd/redlocksim "+arguments, c.text(`document.querySelector("#command").textContent`))
	address := c.text(`location.href`)
	c.eval(`document.querySelector("[name=remove-0]").click()`)
	c.shows(played(t, play.Setup{Base: "S1", Design: "token-admit", Schedule: simulation.Schedule{}}))

	// Every kind of fault can be added.
	c.eval(`(async () => { for (const o of document.querySelectorAll("#add-kind option")) { document.querySelector("#add-kind").value = o.value; document.querySelector("#add-go").click(); await new Promise((done) => { const w = new MutationObserver(() => { if (!document.querySelector("main").classList.contains("stale")) { w.disconnect(); done() } }); w.observe(document.querySelector("main"), { attributes: true }) }) } })()`)
	assert.Equal(t, "true", c.eval(`document.querySelector("#error").hidden`), "%s", c.eval(`document.querySelector("#error").textContent`))
	assert.Equal(t, "19", c.eval(`document.querySelectorAll("#faults li").length`))

	// The address has it all.
	c.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	c.open(address, 390, true)
	c.shows(played(t, shorter))
	assert.Equal(t, "true", c.eval(`document.documentElement.scrollWidth <= 390`), "the page is wider than the screen")

	// Of many changes in a row, the last one counts.
	for i := range 30 {
		c.set("#seed", strconv.Itoa(i+1))
	}
	shorter.Seed = 30
	c.shows(played(t, shorter))

	// What can't be played is said, and what an address names beyond the page is left out.
	c.eval(`location.hash = "base=S99"`)
	c.until(`document.querySelector("#error").textContent.startsWith("There is no scenario “S99”. Choose one from the list.")`)
	for _, nowhere := range []string{"tour=11", "chapter=0-nothing", "seed=1e3", "schedule=%5B"} {
		c.eval(`location.hash = "` + nowhere + `"`)
		c.shows(played(t, play.Setup{Base: "S1", Design: "default"}))
		assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden && document.querySelector("#chapter").hidden`), nowhere)
	}
	c.until(`document.querySelector("#error").textContent.includes("can’t be read")`)

	assert.Empty(t, c.problems)
}

// The other locks are played under the same faults, and one of them can be chosen.
func TestOtherLocks(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#base=S4&design=redlock&seed=2", 1400, false)
	c.eval(`document.querySelector("#all").click()`)
	c.until(`document.querySelectorAll("#side li").length > 5 && [...document.querySelectorAll("#side li")].every((li) => li.className && li.querySelector("svg"))`)
	var found [][2]string
	require.NoError(t, json.Unmarshal([]byte(c.eval(`[...document.querySelectorAll("#side li")].map((li) => [li.querySelector("button").textContent, li.querySelector("span").textContent])`)), &found))
	for _, row := range found {
		assert.Equal(t, play.Found(played(t, play.Setup{Base: "S4", Design: row[0], Seed: 2}).Result), row[1], row[0])
	}
	assert.Contains(t, found, [2]string{"default", "none"})
	c.eval(`(() => { const b = [...document.querySelectorAll("#side button")].find((b) => b.textContent === "default"); b.focus(); b.click() })()`)
	c.until(`document.querySelector("#verdict").textContent === "Nothing went wrong" && location.hash.includes("design=default") && document.querySelector("#side [aria-pressed=true]").textContent === "default"`)
	assert.Equal(t, `"default"`, c.eval(`document.activeElement.textContent`), "the focus stays")
	assert.Empty(t, c.problems)
}
