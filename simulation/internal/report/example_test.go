package report_test

import (
	"fmt"
	"os"

	"github.com/redquorum/redlock/simulation/internal/report"
)

func ExampleMatrix_Text() {
	m := report.Matrix{
		Designs: []report.Axis{{Name: "redlock"}, {Name: "guarded"}},
		Faults:  []report.Axis{{Name: "pause"}, {Name: "jump"}},
		Cells: [][]report.Cell{
			{{Runs: 1000, Violated: 31, Kinds: map[string]int{"stale write": 31}, Seed: 17}, {Runs: 1000}},
			{{Runs: 1000}, {Runs: 1000, Unreached: []string{"a clock was seen to jump"}}},
		},
	}
	if err := m.Text(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// design  pause  jump
	// ───────────────────
	// redlock  3.1%     .
	// guarded     .     ?
	//
	// Runs with a violation. ".": none found; "?": none found, but what it depends on was never reached,
	//   so it shows nothing; blank: not played; "!": not as expected.
	//
	// Violated (95 % confidence), and the first seed that shows it:
	//   redlock / pause: 3.1 % (2.19 to 4.37 %), stale write; seed 17
	//
	// Never reached, so that a 0 shows nothing:
	//   guarded / jump: a clock was seen to jump
}
