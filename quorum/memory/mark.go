package memory

import (
	"cmp"
	"strconv"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// Mark is what clients leave on a server under an instance's name, see
// wire.Identity.Served. Its rules are those of instance/scripts/mark.lua, which has the reasons. The
// zero value is no mark.
type Mark struct{ text wire.Run }

// NewMark is the mark of a run that clients have used since then, with the text of their set.
func NewMark(id wire.Identity, since time.Time, set string) Mark {
	return Mark{wire.MarkOf(cmp.Or(id.ReplID, id.RunID), strconv.FormatInt(since.UnixMicro(), 10), set)}
}

// Of is the text of the mark in the run of id, empty if the mark belongs to another run.
func (m Mark) Of(id wire.Identity) wire.Run {
	if m.text.ReplID() != cmp.Or(id.ReplID, id.RunID) {
		return ""
	}
	return m.text
}

// Probe leaves or keeps the mark for a client whose probe finds the server as id at the time now of
// its wall clock, and sets the fields of id that come from the mark. It fails with a
// *wire.SetMismatchError, and changes nothing, if the mark has a set that the client's doesn't supersede.
// The set is compared before the run, so a restart that keeps the data keeps the set.
func (m *Mark) Probe(id *wire.Identity, known wire.Known, now time.Time) error {
	set := m.text.Set()
	if known.Set != (wire.Set{}) {
		if old, err := wire.ParseSet(set); set != "" && set != known.Set.String() && (err != nil || !known.Set.Supersedes(old)) {
			return &wire.SetMismatchError{Mine: known.Set, Theirs: set}
		}
		set = known.Set.String()
	}
	now = time.UnixMicro(now.UnixMicro()) // as the epoch tells it
	since := m.text.Since()
	elsewhere := known.Voter != "" && known.Voter != id.RunID && !(known.RunID == id.RunID && known.Epoch == m.text.Epoch())
	if earlier, err := strconv.ParseInt(known.Epoch, 10, 64); err == nil && known.RunID == id.RunID && earlier > since.UnixMicro() {
		since = now
	}
	if m.Of(*id) == "" || since.After(now) || elsewhere && now.Sub(since) >= known.Ago {
		since = now
	}
	*m = NewMark(*id, since, set)
	id.Mark, id.Served = m.text, now.Sub(since)
	return nil
}
