//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" { // this binary is a candidate
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// If processes are killed, paused or ended, others take over. A paused process finds that its term
// is over.
func TestProcessesFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, s := range signals {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			took, err := measure(t.Context(), time.Second, 3, 2, s.signal)
			require.NoError(t, err)
			require.Len(t, took, 2)
		})
	}
}

// The program shows the leader and what to try, and leaves no process when it ends.
func TestShow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &watched{until: "kill -TERM", found: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-candidates", "2"}, nil, out, io.Discard) }()
	<-out.found
	cancel()
	require.NoError(t, <-ended)
	text := out.String()
	assert.Contains(t, text, "2 candidates on five servers")
	assert.Regexp(t, `process \d+ leads, term \d+`, text)
	assert.Contains(t, text, "the candidates resign and end")
}

// watched is a text that signals when it contains some words.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	found chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := strings.Contains(w.text.String(), w.until)
	n, err := w.text.Write(p)
	if !had && strings.Contains(w.text.String(), w.until) {
		close(w.found)
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestMeasuredText(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-ttl", "500ms", "-candidates", "2", "-measure", "1", "-format", "json"}, nil, &out, io.Discard))
	for _, part := range []string{`"candidates": 2`, `"ttl_ns": 500000000`, `"signal": "kill -9"`, `"signal": "SIGSTOP"`, `"signal": "SIGTERM"`, `"took_ns": [`} {
		assert.Contains(t, out.String(), part)
	}
}

func TestBadOptions(t *testing.T) {
	for says, args := range map[string][]string{
		"-ttl is 1ms, want 500ms":     {"-ttl", "1ms"},
		"-candidates is 1, want 2":    {"-candidates", "1"},
		"-measure is -1":              {"-measure", "-1"},
		`-format is "xml", want text`: {"-format", "xml"},
		`"now" is no option`:          {"now"},
		"started by this command":     {asCandidate},
	} {
		require.ErrorContains(t, run(t.Context(), args, nil, io.Discard, io.Discard), says)
	}
}
