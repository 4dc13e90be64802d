package timeline

import (
	"time"

	"github.com/redquorum/redlock/simulation/record"
)

// vain is a row of a process's tries that ended in the same refusal and left nothing on any
// server.
type vain struct {
	process string
	n       int
	// from and until bound the tries between the first and the last; until is
	// exclusive.
	from, until time.Duration
}

// vains returns the rows of at least so many tries.
func (t *Timeline) vains(least int) []vain {
	var all []vain
	for _, process := range t.Processes {
		row := vain{process: process}
		words, first, last := "", never, never
		flush := func() {
			if row.n >= least {
				all = append(all, row)
			}
			row, words, first = vain{process: process}, "", never
		}
		for _, m := range t.Events {
			if m.Lane != process {
				continue
			}
			switch m.Kind {
			case record.Asked:
				last = m.At
			case record.Refused:
				if last == never || t.granted(process, last, m.At) {
					flush()
					continue
				}
				if m.Words != words || first == never {
					flush()
					words, first = m.Words, last
				}
				row.n++
				switch row.n {
				case 1:
				case 2:
					row.from = last
				default:
					row.until = last
				}
			case record.Quarantined:
			default:
				flush()
			}
		}
		flush()
	}
	return all
}

// granted reports whether any server granted the process a request in a period.
func (t *Timeline) granted(process string, from, until time.Duration) bool {
	for _, m := range t.Messages {
		if m.Process == process && m.Sent >= from && m.Sent <= until && m.setting() && (m.ok() || m.Arrived == never || m.Received == never && m.GaveUp != never) {
			return true
		}
	}
	return false
}

// hides reports whether a moment of a process is within the row.
func (v vain) hides(process string, at time.Duration) bool {
	return v.process == process && at >= v.from && at < v.until
}
