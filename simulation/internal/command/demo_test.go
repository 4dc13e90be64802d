package command

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes the test binary a worker process and a driver as well: explore, orders, matrix and
// live start their own program.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" || len(os.Args) > 1 && os.Args[1] == "driver" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// The demo ends, and its output has the tokens.
func TestDemo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	var code int
	synctest.Test(t, func(t *testing.T) { // so that a busy machine is no server that doesn't answer
		code = Run(t.Context(), []string{"demo"}, &stdout, &stderr)
	})
	require.Equal(t, exitOK, code, "%s%s", stdout.String(), stderr.String())
	require.Empty(t, stderr.String())
	tokens := regexp.MustCompile(`holds it: token (\d+)`).FindAllStringSubmatch(stdout.String(), -1)
	require.Len(t, tokens, 2)
	alice, bob := tokens[0][1], tokens[1][1]
	for _, line := range []string{
		"5 embedded servers, a quorum is 3",
		"finds that alice holds it",
		"writes 110 with token " + alice,
		"refuses it: token " + alice + ", but it has seen " + bob,
		"The account holds 130",
		"Without the guard it would hold 110",
	} {
		require.Contains(t, stdout.String(), line)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"sing"}, `there is no command "sing"`},
		{[]string{"demo", "-loud"}, "-loud"},
		{[]string{"demo", "now"}, `unexpected argument "now"`},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), test.args, &stdout, &stderr)
		require.Equal(t, exitUsage, code, "%q", test.args)
		require.Contains(t, stdout.String()+stderr.String(), test.says, "%q", test.args)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, Run(t.Context(), []string{"demo", "-h"}, &stdout, &stderr))
	require.Equal(t, exitOK, Run(t.Context(), []string{"help"}, &stdout, &stderr))
}
