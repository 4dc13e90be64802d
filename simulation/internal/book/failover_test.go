package book_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	generators["failover"] = func([]string) (string, error) { return failover() }
}

// failoverFile is how long it took until another process led, on real processes:
//
//	go run ./quorum/election/cmd/election -measure 10 -format json > docs/testdata/failover.json
//
// That takes five minutes and an idle machine, so a test can't repeat it.
const failoverFile = "testdata/failover.json"

type failoverRecord struct {
	Candidates int `json:"candidates"`
	CPUs       int `json:"cpus"`
	Rows       []struct {
		TTL    time.Duration   `json:"ttl_ns"`
		Signal string          `json:"signal"`
		Took   []time.Duration `json:"took_ns"`
	} `json:"rows"`
}

func recordedFailover() (failoverRecord, error) { return record[failoverRecord](failoverFile) }

func failover() (string, error) {
	r, err := recordedFailover()
	if err != nil {
		return "", err
	}
	var rows [][]string
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	for _, row := range r.Rows {
		n := len(row.Took)
		if n == 0 {
			return "", fmt.Errorf("%s: nothing was measured for %s", failoverFile, row.Signal)
		}
		rows = append(rows, []string{"`" + row.Signal + "`", spaced(row.TTL), ms(row.Took[0]), ms(row.Took[n/2]), ms(row.Took[n-1])})
	}
	text := table("signal to the leader | TTL | least | median | most", rows)
	return text + fmt.Sprintf("\n%d candidates, %d processors, %d times each.", r.Candidates, r.CPUs, len(r.Rows[0].Took)), nil
}

// After a leader that can't resign, another one leads within a TTL and 0.3 s, also on the machine
// of this recording.
func TestRecordedFailover(t *testing.T) {
	r, err := recordedFailover()
	require.NoError(t, err)
	require.Len(t, r.Rows, 6)
	for _, row := range r.Rows {
		require.GreaterOrEqual(t, len(row.Took), 10)
		assert.True(t, slices.IsSorted(row.Took))
		if row.Signal == "SIGTERM" {
			assert.Less(t, row.Took[len(row.Took)/2], 50*time.Millisecond, "the median of a resignation")
			continue
		}
		assert.LessOrEqual(t, row.Took[len(row.Took)-1], row.TTL+300*time.Millisecond, row.Signal)
	}
}
