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
		return errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "index.html"), []byte("<p>"), 0o600))
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
	response, err := http.Get(address)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	assert.Equal(t, "<p>", string(text))
	interrupt()
	assert.Equal(t, exitOK, <-code)
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
