package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes the matrix as a table, with the confidence interval in each cell with
// violations.
func (m Matrix) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	write := func(format string, args ...any) { _, _ = fmt.Fprintf(b, format, args...) } // Flush gives the error
	write("| design |")
	for _, fault := range m.Faults {
		write(" %s |", cellText(fault.Name))
	}
	write("\n| --- |%s\n", strings.Repeat(" ---: |", len(m.Faults)))
	for i, design := range m.Designs {
		write("| %s |", cellText(design.Name))
		for j := range m.Faults {
			write(" %s |", markdownCell(m.At(i, j)))
		}
		write("\n")
	}
	write("\nThe share of runs with a violation, in brackets its 95 %% confidence interval (Wilson). " +
		"0: none in so many runs. ?: none, but what it depends on was never reached, so it shows nothing. Empty: not played. **!**: not as the scenarios say.\n")
	above := "\n"
	for _, a := range slices.Concat(m.Designs, m.Faults) {
		if a.Title == "" {
			continue
		}
		write("%s- **%s**: %s", above, cellText(a.Name), cellText(a.Title))
		if a.Source != "" {
			write(" (%s)", cellText(a.Source))
		}
		write("\n")
		above = ""
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: writing Markdown: %w", err)
	}
	return nil
}

func markdownCell(c Cell) string {
	low, high := c.Interval()
	return c.show("", fmt.Sprintf("0 of %d", c.Runs), fmt.Sprintf("%s %% (%s–%s)", exact(c.Rate()), exact(low), exact(high)), " **!**")
}

// cellText keeps a text from ending its cell.
func cellText(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
