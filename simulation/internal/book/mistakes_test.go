package book_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordedMistakes is the source of the table:
//
//	go test ./simulation/internal/book -run TestOperatorMistakes -update && go test ./simulation/internal/book -run TestGeneratedParts -update
//
// That takes a redis-server, so the table is made from a recording, which the test compares
// wherever there is one.
type recordedMistakes struct {
	// Version is the server's. Other versions word errors differently.
	Version string           `json:"redis_version"`
	Rows    []mistakeOnPaper `json:"mistakes"`
}

type mistakeOnPaper struct {
	Mistake string `json:"mistake"`
	Error   string `json:"error"`
	Fix     string `json:"fix"`
}

const mistakesFile = "testdata/mistakes.json"

func init() {
	generators["mistakes"] = func([]string) (string, error) { return mistakeTable() }
}

func readMistakes() (recordedMistakes, error) { return readRecorded[recordedMistakes](mistakesFile) }

// lostRound is the beginning of most errors. The page shows it once.
const lostRound = `quorum: no quorum of instances (acquire "orders:42": 0 granted, 0 refused, 1 failed; quorum is 1 of 1); `

// The page mentions what the table leaves out.
func TestMistakesBeginAlike(t *testing.T) {
	r, err := readMistakes()
	require.NoError(t, err)
	page, err := os.ReadFile("troubleshooting.md")
	require.NoError(t, err)
	require.Contains(t, strings.Join(strings.Fields(string(page)), " "), "`"+strings.TrimSuffix(lostRound, " ")+"`")
	n := 0
	for _, row := range r.Rows {
		if strings.HasPrefix(row.Error, lostRound) {
			n++
		}
	}
	require.Greater(t, n, 10)
}

func mistakeTable() (string, error) {
	r, err := readMistakes()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, row := range r.Rows {
		text := strings.TrimPrefix(row.Error, lostRound)
		rows = append(rows, []string{row.Mistake, "`" + strings.ReplaceAll(strings.ReplaceAll(text, "`", "'"), "|", `\|`) + "`", row.Fix})
	}
	return table("mistake | first line of the error | fix", rows), nil
}

func (r *recordedMistakes) withoutTheServersWords() {
	words := regexp.MustCompile(` \([A-Z]{2}[^()]*\)`)
	for i := range r.Rows {
		r.Rows[i].Error = words.ReplaceAllString(r.Rows[i].Error, "")
	}
}
