package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/redquorum/redlock/simulation/search"
)

// progress is a line on a terminal that says how far a search is.
type progress struct {
	out   io.Writer
	began time.Time
	last  time.Time
	to    uint64
}

// newProgress is nil if nobody watches.
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
	fmt.Fprintf(p.out, "\r\x1b[K%d%s runs, %.0f/s, %d with violations", b.Runs, of, rate, b.Violating)
}

func (p *progress) clear() { fmt.Fprint(p.out, "\r\x1b[K") }
