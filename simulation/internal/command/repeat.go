package command

import (
	"flag"
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

// given returns the flags that were set, as arguments, without the number of workers, on
// which the result does not depend.
func given(flags *flag.FlagSet) []string {
	var args []string
	flags.Visit(func(f *flag.Flag) {
		switch {
		case f.Name == "workers":
		case f.Value.String() == "true":
			args = append(args, "-"+f.Name)
		case f.Value.String() == "false":
			args = append(args, "-"+f.Name+"=false")
		default:
			args = append(args, "-"+f.Name, f.Value.String())
		}
	})
	return args
}
