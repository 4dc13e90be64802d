package command

import (
	"strings"

	"github.com/redquorum/redlock/simulation/internal/play"
)

// start is the command line that starts the program, in what it prints.
var start = "go run ./simulation/cmd/redlocksim"

// repeat returns a command line.
func repeat(command string, args ...string) string {
	words := []string{start}
	if command != "" {
		words = append(words, command)
	}
	for _, arg := range args {
		words = append(words, play.Quoted(arg))
	}
	return strings.Join(words, " ")
}
