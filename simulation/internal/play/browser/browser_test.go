package browser_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// The download is small. What the page lacks, or what its policy forbids, is a problem of the tests with a browser.
func TestFiles(t *testing.T) {
	t.Parallel() // it waits for the compiler
	entries, err := os.ReadDir(built(t))
	require.NoError(t, err)
	size := 0
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(content)
		require.NoError(t, errors.Join(err, w.Close()))
		size += packed.Len()
		if e.Name() == "index.html" {
			assert.Contains(t, string(content), `"Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval';`)
		}
	}
	assert.Less(t, size, 2_200_000, "look at what the engine imports before you raise it")
}

// An engine that can't be loaded is said, and tried again with the next run.
func TestPageWithoutEngine(t *testing.T) {
	t.Parallel() // it waits for the compiler
	files := browser.Handler(built(t))
	missing := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/engine.wasm.gz" && missing {
			missing = false
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := newChromium(t)
	c.call("Page.navigate", map[string]any{"url": server.URL + "#base=S6c&design=default"}, nil)
	c.until(`document.querySelector("#error").textContent.includes("engine.wasm.gz: 404")`)
	c.set("#seed", "1")
	c.shows(played(t, play.Setup{Base: "S6c", Design: "default", Seed: 1}))
	c.call("Page.navigate", map[string]any{"url": "file://" + folder + "/index.html"}, nil)
	c.until(`document.querySelector("#verdict").textContent.startsWith("This page needs a web server")`)
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
	assert.Equal(t, `"frame-ancestors 'none'"`, c.eval(`fetch("").then((r) => r.headers.get("content-security-policy"))`))

	// The whole answer, with the drawing, is that of native code.
	const request = `{"base": "all", "design": "redlock", "seed": "7"}`
	var native, theirs any
	require.NoError(t, json.Unmarshal(play.Answer([]byte(request)), &native))
	require.NoError(t, json.Unmarshal([]byte(c.eval(`import(new URL("engine.js", location)).then(({ play }) => play(`+request+`))`)), &theirs))
	assert.Equal(t, native, theirs)

	// Another lock.
	c.set("#design", "token-admit")
	run := played(t, play.Setup{Base: "S1", Design: "token-admit"})
	c.shows(run)

	// A shorter pause, and then none.
	c.set("[name=for_ns-0]", "0.003")
	shorter := play.Setup{Base: "S1", Design: "token-admit", Schedule: append(simulation.Schedule{}, run.Faults...)}
	shorter.Schedule[0].For = 3_000_000
	c.shows(played(t, shorter))
	arguments, err := shorter.Arguments()
	require.NoError(t, err)
	assert.Equal(t, "go run ./simulation/cmd/redlocksim "+arguments, c.text(`document.querySelector("#command").textContent`))
	address := c.text(`location.href`)
	c.eval(`document.querySelector("[name=remove-0]").click()`)
	c.shows(played(t, play.Setup{Base: "S1", Design: "token-admit", Schedule: simulation.Schedule{}}))

	// Every kind of fault can be added.
	for i := range 19 {
		c.eval(fmt.Sprintf(`document.querySelector("#add-kind").selectedIndex = %d; document.querySelector("#add-go").click()`, i))
		c.until(fmt.Sprintf(`document.querySelectorAll("#faults li").length === %d && !document.querySelector("main").classList.contains("stale")`, i+1))
	}
	assert.Equal(t, `""`, c.eval(`document.querySelector("#error").textContent`))
	assert.Equal(t, "19", c.eval(`document.querySelectorAll("#add-kind option").length`))

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
	c.eval(`location.hash = "schedule=%5B"`)
	c.until(`document.querySelector("#error").textContent.includes("the schedule can't be read")`)
	for _, nowhere := range []string{"tour=11", "chapter=0-nothing", "seed=1e3"} {
		c.eval(`location.hash = "` + nowhere + `"`)
		c.shows(played(t, play.Setup{Base: "S1", Design: "default"}))
		assert.Equal(t, "true", c.eval(`document.querySelector("#tour").hidden && document.querySelector("#chapter").hidden`), nowhere)
	}
	assert.Empty(t, c.problems)
}

// The other locks are played under the same faults, and one of them can be chosen.
func TestOtherLocks(t *testing.T) {
	t.Parallel() // it waits for the compiler
	c, base := opened(t)
	c.open(base+"#base=S4&design=redlock&seed=2", 1400, false)
	c.until(compared)
	found := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(c.eval(`Object.fromEntries([...document.querySelectorAll("#side li")].map((li) => [li.querySelector("button").textContent, li.querySelector("span").textContent]))`)), &found))
	require.Len(t, found, 4)
	for design, verdict := range found {
		assert.Equal(t, strings.Replace(play.Found(played(t, play.Setup{Base: "S4", Design: design, Seed: 2}).Result), "none", "Nothing went wrong", 1), verdict, design)
	}
	c.eval(`(() => { const b = [...document.querySelectorAll("#side button")].find((b) => b.textContent === "default"); b.focus(); b.click() })()`)
	c.shows(played(t, play.Setup{Base: "S4", Design: "default", Seed: 2}))
	assert.Equal(t, "default", c.text(`document.activeElement.textContent`), "the focus stays")
	assert.Equal(t, "default", c.text(`document.querySelector("#side [aria-pressed=true]").textContent`))
	assert.Empty(t, c.problems)
}
