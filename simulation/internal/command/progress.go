package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// progress is a progress line on a terminal. A nil *progress shows nothing.
type progress struct {
	out         io.Writer
	began, last time.Time
}

// newProgress returns nil without a terminal.
func newProgress(out io.Writer) *progress {
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{out: f, began: time.Now()}
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
	if p == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last = time.Now()
	p.show(fmt.Sprintf("%d of %d runs%s%s", done, of, detail, left(time.Since(p.began), done, of)))
}

// left returns the estimated remaining time: ", 9 s left". It returns "" in the first
// second, when the estimate is a guess.
func left(gone time.Duration, done, of uint64) string {
	if gone < time.Second || done == 0 || done >= of {
		return ""
	}
	left := time.Duration(gone.Seconds() * (float64(of)/float64(done) - 1) * float64(time.Second))
	if left <= 100*time.Second {
		return fmt.Sprintf(", %d s left", int(math.Ceil(left.Seconds())))
	}
	return fmt.Sprintf(", %d min left", int(math.Ceil(left.Minutes())))
}
