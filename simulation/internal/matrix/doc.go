// Package matrix runs lock designs under faults. It reports how often each fault violates
// each design, with a confidence interval and the first seed. It alone answers how often, and so
// which of two locks is better where both can break.
//
//	result, err := matrix.Play(ctx, matrix.DefaultPlan(), nil)
//	err = result.Matrix().Text(os.Stdout)
//
// # Cells
//
// Package cells has the columns, the rows, and what the clients do.
//
// # Expectations
//
// A result that differs from the cell's cells.Expectation is Unexpected and makes the command fail. A zero is marked if
// an event on which it depends never happened, because then it proves nothing.
//
// The result of a Plan does not depend on the number of processors.
package matrix
