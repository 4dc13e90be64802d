package main

import (
	"flag"
	"strings"
)

const goRun = "go run ./simulation/cmd/redlocksim"

// repeat is a command line.
func repeat(command string, args ...string) string {
	words := []string{goRun}
	if command != "" {
		words = append(words, command)
	}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// given are the flags that were set, as arguments. The number of workers isn't among them:
// what is found doesn't depend on it.
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

// quoted is an argument as a shell takes it.
func quoted(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
