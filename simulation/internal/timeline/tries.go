package timeline

import (
	"time"

	"github.com/redquorum/redlock/simulation"
)

// vain is a process's tries in a row that all ended in the same refusal and left
// nothing on any server. One is as good as the next to look at.
type vain struct {
	process string
	n       int
	// from and until bound those between the first and the last: what the process
	// does from the one time up to, without, the other.
	from, until time.Duration
}

// vains lists the rows of at least so many tries.
func (t *Timeline) vains(least int) []vain {
	var all []vain
	for _, process := range t.Processes {
		row := vain{process: process}
		words, first, last := "", None, None
		flush := func() {
			if row.n >= least {
				all = append(all, row)
			}
			row, words, first = vain{process: process}, "", None
		}
		for _, m := range t.Marks {
			if m.Lane != process {
				continue
			}
			switch m.Kind {
			case simulation.Asked:
				last = m.At
			case simulation.Refused:
				if last == None || t.granted(process, last, m.At) {
					flush()
					continue
				}
				if m.Words != words || first == None {
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
			case simulation.Quarantined:
			default:
				flush()
			}
		}
		flush()
	}
	return all
}

// granted reports whether any server gave the process anything that it asked for
// in a stretch of time.
func (t *Timeline) granted(process string, from, until time.Duration) bool {
	for _, m := range t.Messages {
		if m.Process == process && m.Sent >= from && m.Sent <= until && m.setting() && (m.ok() || m.Arrived == None || m.Heard == None && m.GaveUp != None) {
			return true
		}
	}
	return false
}

// hides reports whether a moment of a process is within the row.
func (v vain) hides(process string, at time.Duration) bool {
	return v.process == process && at >= v.from && at < v.until
}
