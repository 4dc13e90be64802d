package contract

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

// odd is texts that some layer may mangle.
var odd = []string{
	"plain", "plain ", "plain\n", "line", "with space", " ", "tab\there", "line\nbreak", "crlf\r\nend", "trailing ", " leading",
	"ünïcode", "日本語", "🔒", "e\u0301", "\u00e9", "\u202e", "quote\"s'`", `back\slash`, `\n`, "%s%d", "$1", "*", "?", "[a-z]", "a:b:c",
	"0", "-1", "1e3", "007", "nil", "OK", "UPPER", "upper", "\xff\xfe", "\x01\x02\x7f", strings.Repeat("x", 1024-64), strings.Repeat("ß", 480),
}

// checkKeys locks all odd keys at once. If two are the same to the server, one is refused.
func checkKeys(c *check) {
	tokens := map[string]fencing.Token{}
	for i, name := range odd {
		tokens[name] = c.granted(c.acquire(name, fmt.Sprint("v", i))).Token
	}
	for i, name := range odd {
		value := fmt.Sprint("v", i)
		vote := c.refused(c.look(name))
		require.Equal(c.t, value, vote.Holder, "%q", name)
		require.Equal(c.t, tokens[name], vote.Token, "%q", name)
		c.granted(c.raise(name, value, tokens[name]+3))
		c.granted(c.extend(name, value, long))
		c.granted(c.release(name, value))
		require.Equal(c.t, tokens[name]+3, c.free(name), "%q", name)
	}
}

func checkValues(c *check) {
	for i, value := range odd {
		sent := c.clock.Now()
		token := c.granted(c.acquire("a", value)).Token
		require.Equal(c.t, token, c.held("a", value, long, sent), "%q", value)
		if other := odd[(i+1)%len(odd)]; other != value {
			c.changesNothing("a", func() { c.refused(c.release("a", other)) })
		}
		c.granted(c.raise("a", value, token+1))
		c.granted(c.extend("a", value, long))
		c.granted(c.restore("a", value, token+2))
		c.granted(c.release("a", value))
		require.Equal(c.t, token+2, c.free("a"), "%q", value)
		c.granted(c.restore("a", value, token+2))
		require.Equal(c.t, value, c.do(c.look("a")).Holder)
		c.granted(c.release("a", value))
	}
}
