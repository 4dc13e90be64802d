package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/redquorum/redlock/simulation/search"
)

// progress is a progress line on a terminal.
type progress struct {
	out   io.Writer
	began time.Time
	last  time.Time
	to    uint64
}

// newProgress returns nil without a terminal.
func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{out: f, began: time.Now()}
}

func (p *progress) show(b search.Batch) {
	now := time.Now()
	if now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last = now
	of := ""
	if p.to < math.MaxUint64>>1 {
		of = fmt.Sprintf(" of %d", p.to-b.From)
	}
	rate := float64(b.Runs) / max(now.Sub(p.began).Seconds(), 1e-3)
	fmt.Fprintf(p.out, "\r\x1b[K%d%s runs, %.0f/s, %d with violations%s", b.Runs, of, rate, b.Violating, p.left(now, b.Runs, p.to-b.From))
}

// left returns the estimated remaining time: ", 9 s left". It returns "" in the first
// second, when the estimate is a guess.
func (p *progress) left(now time.Time, done, of uint64) string {
	gone := now.Sub(p.began)
	if gone < time.Second || done == 0 || done >= of || of > math.MaxUint64>>1 {
		return ""
	}
	left := time.Duration(gone.Seconds() * (float64(of)/float64(done) - 1) * float64(time.Second))
	if left <= 100*time.Second {
		return fmt.Sprintf(", %d s left", int(math.Ceil(left.Seconds())))
	}
	return fmt.Sprintf(", %d min left", int(math.Ceil(left.Minutes())))
}

func (p *progress) clear() { fmt.Fprint(p.out, "\r\x1b[K") }
