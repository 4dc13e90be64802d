package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
)

// start is the command line that starts the program, in what it prints.
var start = "go run ./simulation/cmd/redlocksim"

// errUsage is wrong usage that was already reported.
var errUsage = errors.New("wrong usage")

// usageError is wrong usage that is not reported yet.
type usageError struct{ error }

// unknownError is what could not be tested.
type unknownError struct{ error }

// parse parses a command's flags. No argument may follow them.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	_, err := parseWith(flags, args, "", stderr)
	return err
}

// parseWith parses a command's flags and one argument, before, between or after them. No
// argument is allowed if what, its description, is "".
func parseWith(flags *flag.FlagSet, args []string, what string, stderr io.Writer) (word string, err error) {
	flags.SetOutput(stderr)
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return "", err
		} else if err != nil {
			return "", errUsage // flag has reported it
		}
		switch {
		case flags.NArg() == 0 && word == "" && what != "":
			return "", usageError{fmt.Errorf("which %s? Name one", what)}
		case flags.NArg() == 0:
			return word, nil
		case word != "" || what == "":
			hint := ""
			if _, err := designs.ByName(flags.Arg(0)); err == nil && flags.Lookup("design") != nil {
				hint = ": want -design " + flags.Arg(0)
			}
			return "", usageError{fmt.Errorf("unexpected argument %q%s", flags.Arg(0), hint)}
		}
		word, args = flags.Arg(0), flags.Args()[1:]
	}
}

// interrupted returns a readable error for Ctrl-C.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; everything that was started has ended, and nothing is left behind")
	}
	return err
}

// commas splits a flag's value at commas.
func commas(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// oneOf checks a flag that has a few values.
func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usageError{fmt.Errorf("%s is %q, want %s", flag, value, strings.Join(values, ", "))}
}
