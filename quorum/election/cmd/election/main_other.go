//go:build !unix

// Command election shows an election between processes. It needs signals, which only Unix has.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "election: the leader is stopped and killed by signals, which this system hasn't; use Linux, macOS or WSL")
	os.Exit(2)
}
