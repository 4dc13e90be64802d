package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withPage has the command serve a page that need not be compiled.
func withPage(t *testing.T) {
	t.Helper()
	old := buildPage
	t.Cleanup(func() { buildPage = old })
	buildPage = func(_ context.Context, folder string, _ io.Writer) error {
		return errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "index.html"), []byte("<p>"), 0o600),
			os.WriteFile(filepath.Join(folder, "engine.wasm.gz"), []byte("x"), 0o600))
	}
}

// The page is served on the address that is printed, until Ctrl-C.
func TestPlayServesThePage(t *testing.T) {
	withPage(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	from, to := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, []string{"play"}, to, io.Discard)
		_ = to.Close()
	}()
	lines := bufio.NewReader(from)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	address := regexp.MustCompile(`^http://127\.0\.0\.1:\d+/`).FindString(line)
	require.NotEmpty(t, address, line)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // it ends when the command closes its end
	for name, kind := range map[string]string{"": "text/html; charset=utf-8", "engine.wasm.gz": "application/gzip"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+name, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, kind, response.Header.Get("Content-Type"))
		require.NoError(t, response.Body.Close())
	}
	interrupt()
	assert.Equal(t, exitOK, <-code)
	if response, err := http.Get(address); err == nil {
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		assert.NotEqual(t, "<p>", string(text), "another program may have got the port, but this is the page")
	}
}

func TestPlayWritesThePage(t *testing.T) {
	withPage(t)
	folder := filepath.Join(t.TempDir(), "new")
	out, _ := does(t, exitOK, "play", "-out", folder)
	assert.Contains(t, out, "the page: "+folder+";")
	file := filepath.Join(folder, "index.html")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "<p>", string(text))
	_, errs := does(t, exitFail, "play", "-out", file)
	assert.Contains(t, errs, file)
}

// Without a Go toolchain it says so in one sentence.
func TestPlayWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	out, errs := does(t, exitUsage, "play")
	assert.Empty(t, out)
	assert.Equal(t, "redlocksim play: the page's engine is built with the go command, which isn't in the PATH; install Go from https://go.dev/dl\n", errs)
}
