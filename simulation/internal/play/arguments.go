package play

import (
	"encoding/json"
	"regexp"
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

// plain arguments mean nothing else to a shell.
var plain = regexp.MustCompile(`^[\w./:,=@%+-]+$`)

// Quoted quotes an argument for a shell.
func Quoted(arg string) string {
	if plain.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
