package farm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// doubles doubles a job's number, and no job may have the number 9.
func doubles(job uint64) (uint64, error) {
	if job == 9 {
		return 0, errors.New("no such job")
	}
	return 2 * job, nil
}

func TestPlay(t *testing.T) {
	serves := func(_ context.Context, share string, out, _ io.Writer) error { return Serve(share, out, 20, doubles) }
	for number := range 4 {
		var all []uint64
		play := func(jobs uint64) error {
			all = nil
			return Play(t.Context(), Workers{number, serves}, jobs, doubles, func(_, result uint64) { all = append(all, result) })
		}
		require.NoError(t, play(5))
		require.Equal(t, []uint64{0, 2, 4, 6, 8}, all, "%d workers", number)
		require.ErrorContains(t, play(20), "no such job")
		require.Len(t, all, 9, "those before it")
	}
	says := func(_ context.Context, _ string, _, errs io.Writer) error {
		_, _ = io.WriteString(errs, "out of order\n")
		return errors.New("exit status 7")
	}
	for want, w := range map[string]Workers{
		"a worker process ended: exit status 7\nout of order": {2, says},
		"-1 workers": {Number: -1}, "a function that runs one": {Number: 1},
	} {
		require.ErrorContains(t, Play(t.Context(), w, 5, doubles, func(_, _ uint64) {}), want)
	}
}

func TestServe(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Serve("1/2", &out, 6, doubles))
	require.Equal(t, "2\n6\n10\n", out.String())
	for _, share := range []string{"", "1", "1/0", "x/2"} {
		require.ErrorContains(t, Serve(share, &out, 6, doubles), "the share is ")
	}
	require.ErrorContains(t, Serve("0/1", broken{}, 6, doubles), "disk full")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
