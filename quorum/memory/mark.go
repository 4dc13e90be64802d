package memory

import (
	"strconv"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Mark is what clients leave on a server under an instance's name, see
// wire.Identity.Served. Its rules are those of instance/scripts/mark.lua, which has the reasons. The
// zero value is no mark.
type Mark struct {
	runID, replID string // of the server when it was left
	epoch         string
	since         time.Time // by the server's wall clock
}

// NewMark is the mark of a run that clients have used since then.
func NewMark(id wire.Identity, since time.Time) Mark {
	return Mark{runID: id.RunID, replID: id.ReplID, epoch: epochAt(since), since: since}
}

func epochAt(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// Epoch is the epoch that a request must name in the run of id, empty if the mark belongs to
// another run.
func (m Mark) Epoch(id wire.Identity) string {
	if m.runID != id.RunID || m.replID != id.ReplID {
		return ""
	}
	return m.epoch
}

// Probe leaves or keeps the mark for a client whose probe finds the server as id at the time
// now of its wall clock, and sets the fields of id that come from the mark.
func (m *Mark) Probe(id *wire.Identity, before wire.Known, now time.Time) {
	if m.since.After(now) {
		m.since = now
	}
	elsewhere := before.Voter != "" && before.Voter != id.RunID && !(before.RunID == id.RunID && before.Epoch == m.epoch)
	if m.Epoch(*id) == "" || elsewhere && now.Sub(m.since) >= before.Ago {
		*m = NewMark(*id, now)
	}
	id.Epoch, id.Served = m.epoch, now.Sub(m.since)
}
