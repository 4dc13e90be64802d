package main

import (
	"fmt"
	"io"
	"os"
)

// console is a command's standard output. It remembers the first error, because nobody
// looks at each line's: a full disk would go unnoticed.
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

// lost says that not all was written.
func (c *console) lost() error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("the output could not be written, and is not complete: %w", c.err)
}

// fileOf is the file behind a writer, if there is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if c, ok := w.(*console); ok {
		w = c.out
	}
	f, ok := w.(*os.File)
	return f, ok
}
