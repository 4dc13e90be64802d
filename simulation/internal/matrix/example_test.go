package matrix_test

import (
	"context"
	"fmt"

	"github.com/redquorum/redlock/simulation/internal/matrix"
)

// A holder that is paused before it writes breaks any lock that expires; a resource that checks
// tokens is not harmed.
func ExamplePlay() {
	result, err := matrix.Play(context.Background(), matrix.Plan{
		Designs: []string{"default", "token-admit"},
		Faults:  []string{"pause"},
		Seeds:   20,
	}, matrix.Pool{})
	if err != nil {
		fmt.Println(err)
		return
	}
	table := result.Matrix()
	for i, design := range table.Designs {
		fmt.Printf("%s: harm in some of %d runs: %v\n", design.Name, table.Cells[i][0].Runs, table.Cells[i][0].Violated > 0)
	}
	fmt.Println("not as expected:", len(result.Unexpected()))
	// Output:
	// default: harm in some of 20 runs: true
	// token-admit: harm in some of 20 runs: false
	// not as expected: 0
}
