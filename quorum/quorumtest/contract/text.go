package contract

import (
	"fmt"
	"strings"
)

// odd is texts that some layer may mangle.
var odd = []string{
	"plain", "plain ", "plain\n", "line", "with space", " ", "tab\there", "line\nbreak", "crlf\r\nend", "trailing ", " leading",
	"ünïcode", "日本語", "🔒", "e\u0301", "\u00e9", "\u202e", "quote\"s'`", `back\slash`, `\n`, "%s%d", "$1", "*", "?", "[a-z]", "a:b:c",
	"0", "-1", "1e3", "007", "nil", "OK", "UPPER", "upper", "\xff\xfe", "\x01\x02\x7f", strings.Repeat("x", 1024-64), strings.Repeat("ß", 480),
}

// checkTexts locks all odd keys at once, with odd values. If two are the same to the server, one
// is refused.
func checkTexts(c *check) {
	for i, name := range odd {
		c.granted(c.acquire(name, odd[len(odd)-1-i]))
	}
	for i, name := range odd {
		value, token := odd[len(odd)-1-i], c.token(name)
		c.refused(c.release(name, fmt.Sprint(value, "x")))
		c.granted(c.raise(name, value, token+3))
		c.granted(c.extend(name, value, long))
		c.granted(c.release(name, value))
		c.granted(c.restore(name, value, token+5))
		c.granted(replacing(c.acquire(name, "new"), value))
		c.granted(c.release(name, "new"))
	}
}
