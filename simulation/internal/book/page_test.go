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
	generators["page"] = func([]string) (string, error) { return pageFigures() }
}

// pageFile is how large the page of redlocksim play is, and how fast in a browser:
//
//	REDLOCK_FIGURES=$PWD/docs/testdata/page.json go test ./simulation/internal/play/browser -run TestFigures
//
// That takes minutes and an idle machine, so a test can't repeat it. Package browser's tests check
// that the page has not become larger.
const pageFile = "testdata/page.json"

type pageRecord struct {
	CPUs    int    `json:"cpus"`
	Browser string `json:"browser"`
	Sizes   []struct {
		What   string `json:"what"`
		Plain  int    `json:"plain"`
		Gzip   int    `json:"gzip"`
		Brotli int    `json:"brotli"`
	} `json:"sizes"`
	Times []struct {
		What string          `json:"what"`
		Took []time.Duration `json:"took_ns"`
	} `json:"times"`
}

func recordedPage() (pageRecord, error) { return readRecorded[pageRecord](pageFile) }

func pageFigures() (string, error) {
	r, err := recordedPage()
	if err != nil {
		return "", err
	}
	var sizes, times [][]string
	mb := func(n int) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }
	for _, s := range r.Sizes {
		sizes = append(sizes, []string{s.What, mb(s.Plain), mb(s.Gzip), mb(s.Brotli)})
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds()) }
	for _, row := range r.Times {
		n := len(row.Took)
		if n == 0 {
			return "", fmt.Errorf("%s: %s was not measured", pageFile, row.What)
		}
		times = append(times, []string{row.What, ms(row.Took[n/2]), ms(row.Took[n*95/100]), fmt.Sprint(n)})
	}
	return table("size of | as it is | with gzip | with brotli", sizes) + "\n" +
		table("time | median | 95th percentile | times", times) +
		fmt.Sprintf("\nWith files from the same machine, in headless %s, on %d processors; the first three count from the moment at which the page is opened.", r.Browser, r.CPUs), nil
}

func TestRecordedPage(t *testing.T) {
	r, err := recordedPage()
	require.NoError(t, err)
	require.Len(t, r.Sizes, 5)
	for _, s := range r.Sizes {
		assert.Less(t, s.Brotli, s.Gzip, s.What)
		assert.Less(t, s.Gzip, s.Plain, s.What)
	}
	require.Len(t, r.Times, 4)
	for _, row := range r.Times {
		assert.True(t, slices.IsSorted(row.Took), row.What)
	}
}
