package command

import (
	"encoding/json"
	"io"
)

// console is a command's standard output. It keeps the first write error, which callers
// ignore, so that a full disk is reported.
type console struct {
	out io.Writer
	err error
}

func (c *console) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// writeJSON writes a report as JSON.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
