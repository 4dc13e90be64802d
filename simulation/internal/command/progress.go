package command

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress is a progress line on a terminal. A nil *progress shows nothing.
type progress struct {
	out  io.Writer
	last time.Time
}

// newProgress returns nil without a terminal.
func newProgress(out io.Writer) *progress {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{out: f}
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

// runs shows how many of all runs are done, now and then.
func (p *progress) runs(done, of uint64, detail string) {
	if p != nil && time.Since(p.last) >= 100*time.Millisecond {
		p.last = time.Now()
		p.show(fmt.Sprintf("%d of %d runs%s", done, of, detail))
	}
}
