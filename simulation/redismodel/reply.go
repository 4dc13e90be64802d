package redismodel

import "errors"

// Reply is a server's reply to a command.
type Reply struct {
	// Null is Redis's null: no such key, or a condition that wasn't met.
	Null bool
	// Int is an integer reply.
	Int int64
	// Text is a string reply, including "OK".
	Text string
	// Err is an error reply.
	Err error
}

// Redis's replies, verbatim.
var (
	errSyntax       = errors.New("ERR syntax error")
	errNotInteger   = errors.New("ERR value is not an integer or out of range")
	errNegativeKeys = errors.New("ERR Number of keys can't be negative")
	errTooManyKeys  = errors.New("ERR Number of keys can't be greater than number of args")
	errOverflow     = errors.New("ERR increment or decrement would overflow")
)

var okReply = Reply{Text: "OK"}

// number is an integer reply.
func number(n int64) Reply { return Reply{Int: n} }

func truth(is bool) Reply {
	if is {
		return number(1)
	}
	return number(0)
}

func failure(err error) Reply { return Reply{Err: err} }

// Outcome is the kind of the reply in a word.
func (r Reply) Outcome() string {
	switch {
	case r.Err != nil:
		return "error"
	case r.Null:
		return "null"
	case r.Text == "OK":
		return "ok"
	case r.Text != "":
		return "text"
	default:
		return "int"
	}
}
