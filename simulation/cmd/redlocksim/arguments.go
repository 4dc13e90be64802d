package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// parseWith parses a command's flags and one argument, before, between or after them.
func parseWith(flags *flag.FlagSet, args []string, what string, stderr io.Writer) (word string, err error) {
	flags.SetOutput(stderr)
	found := false
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return "", err
			}
			return "", errUsage // flag has told it
		}
		if flags.NArg() == 0 {
			break
		}
		if found {
			return "", usageError{fmt.Errorf("%q is one word too many", flags.Arg(0))}
		}
		word, found, args = flags.Arg(0), true, flags.Args()[1:]
	}
	if word == "" {
		return "", usageError{fmt.Errorf("which %s? Name one", what)}
	}
	return word, nil
}
