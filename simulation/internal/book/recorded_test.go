package book_test

import (
	"encoding/json"
	"os"
)

// readRecorded reads a file of testdata, in which a command or a test has recorded results.
func readRecorded[T any](file string) (r T, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}
