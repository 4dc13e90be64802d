package instancetest

import (
	"flag"
	"strconv"
)

// AtOnce lets n parallel tests run at once, unless -parallel says how many. It is for the TestMain of tests
// that mostly wait for leases and servers: more of them can run than there are processors.
func AtOnce(n int) {
	const parallel = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if !given {
		_ = flag.Set(parallel, strconv.Itoa(n)) // every test program has it
	}
}
