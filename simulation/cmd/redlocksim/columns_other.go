//go:build !unix

package main

import "os"

// terminalColumns is 0: how wide a terminal is isn't known here.
func terminalColumns(*os.File) int { return 0 }
