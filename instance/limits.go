package instance

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// maxLimited is the longest reply of a handshake or a subscription, in bytes, and
	// maxLimitedElements the largest number of its elements. HELLO's reply has 14, and 8 for
	// each module. A notification has three, of which the longest is the name of a lock.
	maxLimited         = 64 << 10
	maxLimitedElements = 4096
	// maxLine is the longest line of any reply, in bytes. Only texts are longer, and the line
	// before a text says how long it is.
	maxLine = maxInfo
)

// types are the first bytes of replies.
const types = "+-:$*"

// replyLimits reads replies just far enough to know the lengths that they announce. So a
// server can't make the client allocate more than that.
type replyLimits struct {
	// always: all replies are limited, and not only those of the handshake.
	always bool

	total    int // bytes of this reply so far
	elements int // that this reply has announced so far
	left     int // elements of this reply that are still to come
	text     int // bytes of a text that are still to come
	line     [24]byte
	length   int // of the line, of which line may have only the beginning
}

// take checks the next bytes from the server. over: the handshake is over.
func (b *replyLimits) take(p []byte, over bool) *handshakeError {
	kind, longest := ErrNotRedis, maxLimited
	if over {
		kind = ErrReply // of a server that was one before
	}
	limited := b.always || !over
	if !limited {
		longest = maxLine
	}
	for len(p) > 0 {
		n := min(b.text, len(p))
		ends := false
		if b.text > 0 {
			b.text -= n
		} else {
			if b.length == 0 && b.left == 0 {
				b.total, b.elements, b.left = 0, 0, 1
			}
			if n = bytes.IndexByte(p, '\n') + 1; n > 0 {
				ends = true
			} else {
				n = len(p)
			}
			if b.length < len(b.line) {
				copy(b.line[b.length:], p[:n])
			}
			b.length += n
		}
		p = p[n:]
		b.total += n
		//guard:lines-bounded  a line without an end can't fill the memory
		if b.length > longest {
			return tooLong(kind, "a line of more than %d bytes", longest)
		}
		if limited && b.total > maxLimited {
			return tooLong(kind, "a reply of more than %d bytes", maxLimited)
		}
		if ends {
			if bad := b.endLine(kind, limited); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// endLine reads what a line announces.
func (b *replyLimits) endLine(of error, limited bool) *handshakeError {
	length := b.length
	b.length = 0
	b.left = max(0, b.left-1)
	kind := b.line[0]
	if limited && strings.IndexByte(types, kind) < 0 {
		return tooLong(of, "%q, which begins no reply", kind)
	}
	if kind != '$' && kind != '*' {
		return nil
	}
	if length > len(b.line) {
		return tooLong(of, "a length of %d digits", length)
	}
	n, err := strconv.Atoi(strings.TrimRight(string(b.line[1:length]), "\r\n"))
	if err != nil || n < 0 {
		return nil // null, or for go-redis to refuse
	}
	if kind == '$' {
		//guard:greeting-bounded  what answers the greeting can't fill the memory
		if limited && n > maxLimited {
			return tooLong(of, "a text of %d bytes", n)
		}
		b.text = min(n, math.MaxInt-len("\r\n")) + len("\r\n")
		return nil
	}
	if !limited {
		return nil
	}
	if n > maxLimitedElements {
		return tooLong(of, "%d elements", n)
	}
	b.left += n
	if b.elements += n; b.elements > maxLimitedElements {
		return tooLong(of, "more than %d elements in one reply", maxLimitedElements)
	}
	return nil
}

func tooLong(kind error, format string, args ...any) *handshakeError {
	return &handshakeError{kind: kind, text: "the server sent " + fmt.Sprintf(format, args...)}
}
