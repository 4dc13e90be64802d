package book_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// All paths are relative to the folder docs.
//
// The go tool keeps a result until a file that the tests opened has changed. It doesn't see these:
// the folder changes before it begins to record files, and other processes read many of them. So a
// wrong page would pass. An empty list of files keeps no result.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../docs"); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	code := m.Run()
	if list := flag.Lookup("test.testlogfile").Value.String(); list != "" {
		if err := os.Truncate(list, 0); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
	}
	os.Exit(code)
}
