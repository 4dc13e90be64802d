package testdata

import "fmt"

func ExampleSum() {
	fmt.Println(1 + 2)
	// Output: 3
}
