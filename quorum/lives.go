package quorum

import "sync"

// lives knows which member has which run id. Two members with one run id are one
// server under two names, and a majority that counts it twice is none (scenario
// S13).
type lives struct {
	mu    sync.Mutex
	owner map[string]string // run id -> the member that has it
	runID map[string]string // member -> its run id
}

func newLives() *lives {
	return &lives{owner: make(map[string]string), runID: make(map[string]string)}
}

// claim takes the run id for the member and gives up the one it had before. If
// another member has it, that one's name is returned and nothing is taken. An
// empty run id is hidden, and can't be told from another.
func (l *lives) claim(runID, member string) (other string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.runID[member]; old != "" && old != runID {
		delete(l.owner, old)
		delete(l.runID, member)
	}
	if runID == "" {
		return ""
	}
	if owner, taken := l.owner[runID]; taken && owner != member {
		return owner
	}
	l.owner[runID], l.runID[member] = member, runID
	return ""
}
