package testbed

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/designs"
	"github.com/redquorum/redlock/simulation/internal/command"
)

// Main registers designs, executes the program's arguments, and exits.
func Main(yours ...designs.Design) {
	for _, d := range yours {
		if err := designs.Register(d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	if len(yours) == 0 {
		fmt.Fprintln(os.Stderr, "testbed: there is no design to test")
		os.Exit(2)
	}
	command.Main("go run .", arguments(os.Args[1:], yours))
}

// arguments are those of redlocksim that do what these do here: without a command, the row of
// the designs, and otherwise the command with the first of them.
func arguments(args []string, yours []designs.Design) []string {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		var names []string
		for _, d := range yours {
			names = append(names, d.Name)
		}
		const wellKnown = ",setpx-cad,redlock,default,token-admit" // beside them
		return append([]string{"matrix", "-designs", strings.Join(names, ",") + wellKnown, "-html", "testbed.html"}, args...)
	case slices.Contains([]string{"run", "explore"}, args[0]):
		return slices.Concat(args[:1], []string{"-design", yours[0].Name}, args[1:])
	}
	return args
}
