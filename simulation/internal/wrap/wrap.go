// Package wrap is how commands write: lines that fit, and numbers of things.
package wrap

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Lines breaks a text between words into lines of at most width letters. The first line
// begins with head, the others with indent. A word that is longer than a line has one of its own.
func Lines(text string, width int, head, indent string) []string {
	var lines []string
	line, begun := head, false
	for word := range strings.FieldsSeq(text) {
		if begun && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line, begun = append(lines, line), indent, false
		}
		if begun {
			line += " "
		}
		line, begun = line+word, true
	}
	return append(lines, line)
}

// width is that of a Paragraph's lines.
const width = 100

// Paragraph writes a text after a heading, in lines of 100 letters. All but the first are indented. Its error
// is lost, so the writer has to keep it.
func Paragraph(w io.Writer, head, text string) {
	fmt.Fprintln(w, strings.Join(Lines(text, width, head, "    "), "\n"))
}

// Count is a number of things, whose plural ends with an s.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
