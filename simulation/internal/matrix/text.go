package matrix

import (
	"bufio"
	"fmt"
	"io"
)

// CurveTable writes the curves' points, with their confidence intervals and what was
// calculated for them.
func (r Result) CurveTable(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, c := range r.Curves() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		c.Text(b)
	}
	return b.Flush()
}
