package book_test

import (
	"fmt"
	"os"
	"testing"
)

// All paths are seen from the folder docs.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../docs"); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
