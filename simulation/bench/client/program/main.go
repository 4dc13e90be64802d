// Command program is one process that uses this library, for the benchmark to measure.
package main

import (
	"os"

	"github.com/redquorum/redlock/simulation/bench/client"
)

func main() { os.Exit(client.Run(os.Stdin, os.Stdout, os.Stderr)) }
