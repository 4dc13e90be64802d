package command

import (
	"fmt"
	"io"
	"os"
)

// progress is a progress line on a terminal. A nil *progress shows nothing.
type progress struct{ out io.Writer }

// newProgress returns nil without a terminal.
func newProgress(out io.Writer) *progress {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{f}
		}
	}
	return nil
}

// show replaces the line.
func (p *progress) show(line string) {
	if p != nil {
		fmt.Fprintf(p.out, "\r\x1b[K%.99s", line)
	}
}

func (p *progress) clear() { p.show("") }
