package browser_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/internal/play/browser"
)

// figures are the page's sizes and times. The documentation shows them.
type figures struct {
	CPUs    int    `json:"cpus"`
	Browser string `json:"browser"`
	Sizes   []size `json:"sizes"`
	Times   []took `json:"times"`
}

// size is that of what is downloaded, in bytes.
type size struct {
	What   string `json:"what"`
	Plain  int    `json:"plain"`
	Gzip   int    `json:"gzip"`
	Brotli int    `json:"brotli"`
}

// took is how often as long something took, in order.
type took struct {
	What string          `json:"what"`
	Took []time.Duration `json:"took_ns"`
}

// largest is how many bytes the engine and the whole page may have, compressed. Look at what the
// engine imports before you raise it.
const largest, largestPage = 2_150_000, 2_250_000

// floors are programs that show what the engine's size consists of.
var floors = []struct{ what, program string }{
	{"a Go program that does nothing", `package main

func main() { select {} }
`},
	{"a program with what the engine uses of Go's library", `package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
)

func main() {
	text, err := json.Marshal(map[string]string{"text": rand.Text()})
	fmt.Println(sha256.Sum256(text), err, json.Unmarshal(text, new(any)))
	slog.Info("x")
	synctest.Test(new(testing.T), func(*testing.T) {})
	select {}
}
`},
	{"a program with this library and the simulation", `package main

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/redquorum/redlock/simulation"
)

func main() {
	result, err := simulation.Run(1, simulation.Config{}, nil, func(*simulation.Client) {})
	text, _ := json.Marshal(result.Log.Digest())
	fmt.Println(string(text), err)
	slog.Info("x")
	select {}
}
`},
}

// The download stays small. With REDLOCK_FIGURES, which names a file, the sizes and the times are
// recorded, on an idle machine with chromium and node:
//
//	REDLOCK_FIGURES=$PWD/docs/testdata/page.json go test ./simulation/internal/play/browser -run TestFigures
//
// Times are not compared: they are the machine's.
func TestFigures(t *testing.T) {
	files := built(t)
	assert.Less(t, len(files["engine.wasm.gz"]), largest)
	page := size{What: "the page's other files"}
	for name, content := range files {
		if name == "engine.wasm.gz" {
			continue
		}
		plain := content
		if strings.HasSuffix(name, ".gz") {
			plain = unzipped(t, content)
		}
		page.add(sizeOf(t, "", plain))
	}
	assert.Less(t, len(files["engine.wasm.gz"])+page.Gzip, largestPage)
	file := os.Getenv("REDLOCK_FIGURES")
	if file == "" {
		return
	}

	engine := sizeOf(t, "the engine", unzipped(t, files["engine.wasm.gz"]))
	f := figures{CPUs: runtime.NumCPU(), Sizes: []size{engine, page}, Times: times(t, files)}
	for _, floor := range floors {
		source := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(source, []byte(floor.program), 0o600))
		program := source + ".wasm"
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", program, source)
		build.Dir = "../../../.."
		build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		content, err := os.ReadFile(program)
		require.NoError(t, err)
		f.Sizes = append(f.Sizes, sizeOf(t, floor.what, content))
	}
	version, err := exec.CommandContext(t.Context(), "chromium", "--version").Output()
	require.NoError(t, err)
	f.Browser = strings.Join(strings.Fields(string(version))[:2], " ")
	text, err := json.MarshalIndent(f, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
}

func (s *size) add(other size) {
	s.Plain, s.Gzip, s.Brotli = s.Plain+other.Plain, s.Gzip+other.Gzip, s.Brotli+other.Brotli
}

// sizeOf compresses a file. Brotli, which is node's, is measured only for a record.
func sizeOf(t *testing.T, what string, plain []byte) size {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s := size{What: what, Plain: len(plain), Gzip: out.Len()}
	if os.Getenv("REDLOCK_FIGURES") != "" {
		node := exec.CommandContext(t.Context(), "node", "-e", `process.stdout.write(String(zlib.brotliCompressSync(fs.readFileSync(0)).length))`)
		node.Stdin = bytes.NewReader(plain)
		length, err := node.Output()
		require.NoError(t, err)
		s.Brotli, err = strconv.Atoi(string(length))
		require.NoError(t, err)
	}
	return s
}

func unzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	return plain
}

// clocks measure on the page: from the navigation to what is seen of it, and from a move of the
// pointer to the frame after the drawing of its run.
const clocks = `(() => {
	const times = (window.times = {});
	const seen = (f) => requestAnimationFrame(() => setTimeout(f));
	const watch = new MutationObserver(() => {
		if (!document.querySelector("#timeline svg")) return;
		watch.disconnect();
		seen(() => (times.picture = performance.now()));
	});
	watch.observe(document, { subtree: true, childList: true });
	const Plain = Worker;
	window.Worker = class extends Plain {
		constructor(...args) {
			super(...args);
			this.addEventListener("message", ({ data }) => {
				if (data.ready) times.loaded ??= performance.now();
				else times.run ??= performance.now();
			});
		}
	};
	window.nextMove = () => new Promise((resolve) => addEventListener("pointermove", () => {
		const [main, began] = [document.querySelector("main"), performance.now()];
		const watch = new MutationObserver(() => {
			if (main.classList.contains("stale")) return;
			watch.disconnect();
			seen(() => resolve(performance.now() - began));
		});
		watch.observe(main, { attributes: true });
	}, { once: true, capture: true }));
})()`

// times opens the page some times, without a cache, and drags the pause of S1.
func times(t *testing.T, files browser.Files) []took {
	t.Helper()
	const visits, moves = 10, 200
	c := newChromium(t)
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	c.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": clocks}, nil)
	ms := func(n float64) time.Duration {
		return time.Duration(n * float64(time.Millisecond)).Round(time.Microsecond)
	}
	list := []took{{What: "the first picture"}, {What: "the engine is loaded"}, {What: "its first run has ended"}, {What: "from a move of the pointer to the picture of its run"}}
	for range visits {
		c.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
		c.open(server.URL+"/", 1400, false)
		c.until(`document.querySelectorAll("#side li svg").length === 4`) // the other locks have been played
		var at struct{ Picture, Loaded, Run float64 }
		require.NoError(t, json.Unmarshal([]byte(c.eval(`window.times`)), &at))
		for i, n := range []float64{at.Picture, at.Loaded, at.Run} {
			list[i].Took = append(list[i].Took, ms(n))
		}
	}
	// The story's own pause is at an operation, and doesn't move.
	c.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	c.open(server.URL+"/#"+url.Values{"base": {"S1"}, "schedule": {`[{"kind":"pause","at_ns":1004500000,"process":"c1","for_ns":12000000000}]`}}.Encode(), 1400, false)
	c.until(`document.querySelectorAll("#side li svg").length === 4`)
	var at struct{ X, Y float64 }
	require.NoError(t, json.Unmarshal([]byte(c.eval(`(() => { const e = document.querySelector(".grip"); e.scrollIntoView({ block: "center", inline: "center" }); const b = e.getBoundingClientRect(); return { X: b.x + Math.min(4, b.width / 2), Y: b.y + b.height / 2 } })()`)), &at))
	mouse := func(kind string, x float64) {
		c.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": at.Y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
	mouse("mousePressed", at.X)
	for i := range moves {
		c.eval(`void (window.moved = nextMove())`)
		mouse("mouseMoved", at.X-float64(5+i%50))
		n, err := strconv.ParseFloat(c.eval(`window.moved`), 64)
		require.NoError(t, err)
		list[3].Took = append(list[3].Took, ms(n))
	}
	mouse("mouseReleased", at.X)
	assert.Empty(t, c.problems)
	for _, l := range list {
		slices.Sort(l.Took)
	}
	return list
}
