package book_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

// recordedMistakes is what the table is made of:
//
//	go test ./simulation/internal/book -run TestOperatorMistakes -update && go test ./simulation/internal/book -run TestGeneratedParts -update
//
// It takes a redis-server, so that the table is made of what was recorded, and the
// record is held to what shows today wherever there is one.
type recordedMistakes struct {
	// Version is the server's. Another one has other words for the same.
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

func readMistakes() (r recordedMistakes, err error) {
	text, err := os.ReadFile(mistakesFile)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

func mistakeTable() (string, error) {
	r, err := readMistakes()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, row := range r.Rows {
		rows = append(rows, []string{row.Mistake, "`" + strings.ReplaceAll(strings.ReplaceAll(row.Error, "`", "'"), "|", `\|`) + "`", row.Fix})
	}
	return table("mistake | first line of the error | fix", rows), nil
}

func (r *recordedMistakes) withoutTheServersWords() {
	words := regexp.MustCompile(` \([A-Z]{2}[^()]*\)`)
	for i := range r.Rows {
		r.Rows[i].Error = words.ReplaceAllString(r.Rows[i].Error, "")
	}
}
