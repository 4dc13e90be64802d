package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// show writes a report for people, or as JSON for programs.
func show(w io.Writer, report interface{ print(w io.Writer) }, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	report.print(out)
	return out.Flush()
}

// list is never nil, because in JSON that is null, through which scripts can't loop.
func list(texts []string) []string { return append([]string{}, texts...) }

// ms is a time in milliseconds, -1 for that of a key that never expires.
func ms(d time.Duration) float64 {
	if d == wire.NoExpiry {
		return -1
	}
	return float64(d.Microseconds()) / 1000
}

func timeLeft(milliseconds float64) string {
	if milliseconds < 0 {
		return "forever"
	}
	return time.Duration(milliseconds * float64(time.Millisecond)).Round(100 * time.Millisecond).String()
}

// shortValue is how much of a value is shown. The whole of it is enough to release the lock;
// this part is enough to tell two apart.
const shortValue = 8

func short(value string) string {
	text := fmt.Sprintf("%q", value[:min(shortValue, len(value))]) // something else may have written it
	return text[1 : len(text)-1]
}
