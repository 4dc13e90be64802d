// Go puts lock clients for Go into the box: it is the driver of the client that its argument names.
package main

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// What makes the drivers, by the name of their client and of its setting.
var drivers = map[string]func() driver.Driver{
	"bsm-redislock":     redislockDriver,
	"redlock":           redlockDriver,
	"redsync":           func() driver.Driver { return redsyncDriver("redsync") },
	"redsync-fail-fast": func() driver.Driver { return redsyncDriver("redsync, fail-fast", failFast) },
	"redsync-set-nx":    func() driver.Driver { return redsyncDriver("redsync, set-nx-on-extend", setNX) },
	"rueidislock":       rueidislockDriver,
	"valkeylock":        valkeylockDriver,
}

func main() {
	if len(os.Args) != 2 || drivers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go run . CLIENT, one of", strings.Join(slices.Sorted(maps.Keys(drivers)), ", "))
		os.Exit(2)
	}
	if err := driver.Run(drivers[os.Args[1]](), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// version is the version of a module that the program was built with.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module && dep.Replace == nil {
			return dep.Version
		}
	}
	return "this checkout"
}
