package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// parseWith reads a command's flags and one word, which may stand before or behind
// them.
func parseWith(flags *flag.FlagSet, args []string, what string, stderr io.Writer) (word string, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args[0], parse(flags, args[1:], stderr)
	}
	flags.SetOutput(stderr)
	before := slices.Clone(args)
	if n := len(args); n > 0 && !strings.HasPrefix(args[n-1], "-") {
		// The last word may be a flag's value: it is if without it a flag wants one.
		word, before = args[n-1], args[:n-1]
	}
	if err := parse(flags, before, stderr); err != nil {
		return "", err
	}
	if word == "" {
		return "", usageError{fmt.Errorf("which %s? Name one", what)}
	}
	return word, nil
}
