package main

import "slices"

// contenders returns all contenders. The others are compared with the first.
func contenders() []contender {
	return slices.Concat(redsyncs(), rueidislocks(), redislocks(), ourselves())
}
