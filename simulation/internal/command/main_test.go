package command

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain makes the test binary a worker process and a driver as well: explore, matrix and live
// start their own program.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" || len(os.Args) > 1 && os.Args[1] == "driver" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func TestWrongUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"sing"}, `there is no command "sing"`},
		{[]string{"matrix", "-loud"}, "-loud"},
		{[]string{"matrix", "now"}, `unexpected argument "now"`},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), test.args, &stdout, &stderr)
		require.Equal(t, exitUsage, code, "%q", test.args)
		require.Contains(t, stdout.String()+stderr.String(), test.says, "%q", test.args)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, Run(t.Context(), []string{"matrix", "-h"}, &stdout, &stderr))
	require.Equal(t, exitOK, Run(t.Context(), []string{"help"}, &stdout, &stderr))
}
