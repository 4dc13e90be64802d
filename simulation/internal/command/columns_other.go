//go:build !unix

package command

import "os"

// terminalColumns returns 0: the width is unknown here.
func terminalColumns(*os.File) int { return 0 }
