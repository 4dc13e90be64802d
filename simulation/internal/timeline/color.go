package timeline

import "os"

// escape is a terminal's code for a way of writing.
type escape string

const (
	bold   escape = "\x1b[1m"
	dim    escape = "\x1b[2m"
	red    escape = "\x1b[1;31m"
	yellow escape = "\x1b[33m"
	reset  escape = "\x1b[0m"
)

func (p *page) paint(e escape, text string) string {
	if !p.o.Color || e == "" || text == "" {
		return text
	}
	return string(e) + text + string(reset)
}

// ColorTerminal reports whether a file is a terminal that wants colours: not if
// the environment has NO_COLOR (https://no-color.org), or TERM says that it is dumb.
func ColorTerminal(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
