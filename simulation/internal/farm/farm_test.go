package farm

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doubles doubles a job's number, and no job may have the number 9.
func doubles(job uint64) (uint64, error) {
	if job == 9 {
		return 0, errors.New("no such job")
	}
	return 2 * job, nil
}

func TestPlay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs := range 3 {
		runtime.GOMAXPROCS(1 + procs)
		var all []uint64
		ctx, interrupt := context.WithCancel(t.Context())
		play := func(jobs, last uint64) error {
			all = nil
			return Play(ctx, jobs, doubles, func(job, result uint64) {
				all = append(all, result)
				if job == last {
					interrupt()
				}
			})
		}
		require.NoError(t, play(5, 5))
		require.Equal(t, []uint64{0, 2, 4, 6, 8}, all)
		require.EqualError(t, play(20, 20), "no such job")
		require.Len(t, all, 9, "those before it")
		require.NoError(t, play(1<<60, 3))
		require.Equal(t, []uint64{0, 2, 4, 6}, all)
	}
}
