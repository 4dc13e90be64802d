//go:build !unix

package main

import "os"

// terminalColumns returns 0: the width is unknown here.
func terminalColumns(*os.File) int { return 0 }
