package book_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// All paths are seen from the folder docs.
//
// The go tool keeps a result until a file that the tests opened has changed. It doesn't see
// these: the folder is changed before it begins to note files, and much is read by other
// processes. A page that became wrong would pass. An empty list of files keeps no result.
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
