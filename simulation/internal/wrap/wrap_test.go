package wrap

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLines(t *testing.T) {
	for _, test := range []struct {
		text         string
		width        int
		head, indent string
		want         []string
	}{
		{"", 10, "", "", []string{""}},
		{"one two three", 7, "", "", []string{"one two", "three"}},
		{" one\n two ", 20, "* ", "  ", []string{"* one two"}},
		{"one two three", 9, "> ", "  ", []string{"> one two", "  three"}},
		{"ä ö ü", 3, "", "", []string{"ä ö", "ü"}},
		{"abcdefghij k", 6, " ", "  ", []string{" abcdefghij", "  k"}},
	} {
		assert.Equal(t, test.want, Lines(test.text, test.width, test.head, test.indent), "%+v", test)
	}
}
