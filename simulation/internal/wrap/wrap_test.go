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
		{"TestA/sub_of_it", 7, "", "", []string{"TestA/", "sub_of_", "it"}},
		{"abcdefgh", 7, "", "", []string{"abcdefg", "h"}},
		{"a/bc_def/ghi", 6, "", "", []string{"a/bc_", "def/", "ghi"}},
		{"abcdefghij k", 6, " ", "  ", []string{" abcde", "  fghi", "  j k"}},
	} {
		assert.Equal(t, test.want, Lines(test.text, test.width, test.head, test.indent), "%+v", test)
	}
}
