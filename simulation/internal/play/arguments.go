package play

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Arguments returns the arguments with which redlocksim plays the setup again, quoted for a
// shell. Its output ends with the same trace's hash.
func (s Setup) Arguments() (string, error) {
	words := []string{"run", Quoted(s.Base)}
	if s.Design != "" {
		words = append(words, "-design", Quoted(s.Design))
	}
	words = append(words, "-seed", strconv.FormatUint(s.Seed, 10))
	if s.Schedule != nil {
		faults, err := json.Marshal(s.Schedule)
		if err != nil {
			return "", err
		}
		words = append(words, "-schedule", Quoted(string(faults)))
	}
	return strings.Join(words, " "), nil
}

// Quoted quotes an argument for a shell.
func Quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
