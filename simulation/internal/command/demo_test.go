package command

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/embedded"
	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
	"github.com/redquorum/redlock/simulation/internal/live"
)

// TestMain makes the test binary a worker process as well: explore, exhaust and matrix start their
// own program.
func TestMain(m *testing.M) {
	live.RunChild()
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// The demo ends, and its output has the tokens.
func TestDemo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	var code int
	synctest.Test(t, func(t *testing.T) { // so that a busy machine is no server that doesn't answer
		code = run(t.Context(), []string{"demo", "-ttl", "400ms", "-n", "3"}, &stdout, &stderr)
	})
	require.Equal(t, exitOK, code, "%s%s", stdout.String(), stderr.String())
	require.Empty(t, stderr.String())
	tokens := regexp.MustCompile(`holds it: token (\d+)`).FindAllStringSubmatch(stdout.String(), -1)
	require.Len(t, tokens, 2)
	alice, bob := tokens[0][1], tokens[1][1]
	for _, line := range []string{
		"3 embedded servers, a quorum is 2",
		"finds that alice holds it",
		"writes 110 with token " + alice,
		"refuses it: token " + alice + ", but it has seen " + bob,
		"The account holds 130",
		"Without the guard it would hold 110",
	} {
		require.Contains(t, stdout.String(), line)
	}
}

// The demo leaves existing servers (real ones, say) unchanged, at its end and after an
// interruption.
func TestDemoLeavesNothingBehind(t *testing.T) {
	for name, stopAt := range map[string]string{"to its end": "", "interrupted": "and waits"} {
		t.Run(name, func(t *testing.T) {
			cluster, err := embedded.Start(3)
			require.NoError(t, err)
			defer func() { require.NoError(t, cluster.Close()) }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stdout := &watched{word: stopAt, found: cancel}
			var stderr bytes.Buffer
			code := run(ctx, []string{"demo", "-ttl", "5s", "-trust", "-instances", strings.Join(cluster.URLs(), ",")}, stdout, &stderr)

			key := regexp.MustCompile(`redlocksim-demo-\w+`).FindString(stdout.String())
			require.NotEmpty(t, key, "%s%s", stdout.String(), stderr.String())
			if stopAt == "" {
				require.Equal(t, exitOK, code, "%s%s", stdout.String(), stderr.String())
			} else {
				require.Equal(t, exitFail, code)
				require.Contains(t, stdout.String(), "interrupted")
				require.NotContains(t, stdout.String(), "The account holds")
			}
			for i, inst := range cluster.Instances() {
				vote := quorumtest.Do(t.Context(), inst, wire.Request{Op: wire.Look, Key: key, Fence: wire.Fence{On: true}})
				require.Equal(t, wire.Granted, vote.Outcome, "the lock's key is still there: %+v", vote)
				require.Zero(t, vote.Token, "the counter is still there")
				keys, err := inst.(*instance.Redis).Client().Keys(t.Context(), "*").Result()
				require.NoError(t, err)
				// The mark shows other clients how long the address has led to this server.
				require.Equal(t, []string{instance.MarkKey(strings.TrimPrefix(cluster.URLs()[i], "redis://"))}, keys)
			}
		})
	}
}

// watched is an output that signals when a word has been written to it.
type watched struct {
	mu    sync.Mutex
	all   bytes.Buffer
	word  string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.all.Write(p)
	if w.word != "" && strings.Contains(w.all.String(), w.word) {
		w.found()
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"sing"}, `there is no command "sing"`},
		{[]string{"demo", "-loud"}, "-loud"},
		{[]string{"demo", "now"}, `unexpected argument "now"`},
		{[]string{"demo", "-ttl", "1ms"}, "TTL is 1ms"},
		{[]string{"demo", "-n", "0"}, "0"},
		{[]string{"demo", "-instances", "http://a"}, "scheme"},
		{[]string{"demo", "-instances", "redis://a,redis://a"}, "both"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), test.args, &stdout, &stderr)
		require.Equal(t, exitUsage, code, "%q", test.args)
		require.Contains(t, stdout.String()+stderr.String(), test.says, "%q", test.args)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"demo", "-h"}, &stdout, &stderr))
	require.Equal(t, exitOK, run(t.Context(), []string{"help"}, &stdout, &stderr))
}

// Without a quorum of servers the demo reports which server failed and why.
func TestDemoWithoutServers(t *testing.T) {
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watched{word: "asks for the lock", found: cancel} // otherwise it waits for them
	code := run(ctx, []string{"demo", "-ttl", "10s", "-instances", "redis://127.0.0.1:1,redis://127.0.0.1:2"}, out, &stderr)
	stdout.WriteString(out.String())
	require.Equal(t, exitFail, code)
	require.Contains(t, stdout.String(), "127.0.0.1:1: ")
	require.Contains(t, stdout.String(), "refused")
}
