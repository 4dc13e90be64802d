package instance

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
	"strings"
)

var (
	//go:embed now.lua
	nowLua string
	//go:embed run.lua
	runLua string
	//go:embed answer.lua
	answerLua string
	//go:embed counter.lua
	counterLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed supersedes.lua
	supersedesLua string
	//go:embed grant.lua
	grantLua string
	//go:embed settle.lua
	settleLua string
	//go:embed replace.lua
	replaceLua string
	//go:embed token.lua
	tokenLua string
	//go:embed lift.lua
	liftLua string
	//go:embed waiters.lua
	waitersLua string
	//go:embed enlist.lua
	enlistLua string
	//go:embed withdraw.lua
	withdrawLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed restore.lua
	restoreLua string
	//go:embed extend.lua
	extendLua string
	//go:embed release.lua
	releaseLua string
	//go:embed handover.lua
	handoverLua string
	//go:embed look.lua
	lookLua string
	//go:embed tick.lua
	tickLua string
	//go:embed mark.lua
	markLua string
)

// The scripts. Those that take many locks at once answer with a list, which
// list.next reads; they begin with what is nearly always all that there is to do, and
// what comes behind it is only run where something is left. The others answer in the
// form of answer.lua, which decodeScript reads.
var (
	acquireScript = newScript(nowLua, runLua, counterLua, acquireLua, supersedesLua, grantLua, settleLua)
	releaseScript = newScript(releaseLua, waitersLua, handoverLua)

	replaceScript     = newScript(nowLua, runLua, answerLua, counterLua, supersedesLua, grantLua, replaceLua)
	replaceBareScript = newScript(nowLua, runLua, answerLua, replaceLua)
	raiseScript       = newScript(nowLua, runLua, answerLua, tokenLua, liftLua, raiseLua)
	restoreScript     = newScript(nowLua, runLua, answerLua, tokenLua, liftLua, restoreLua)
	extendScript      = newScript(nowLua, runLua, answerLua, extendLua)
	lookScript        = newScript(nowLua, answerLua, tokenLua, lookLua)
	tickScript        = newScript(nowLua, runLua, answerLua, tickLua)
	markScript        = newScript(nowLua, answerLua, markLua)
	enlistScript      = newScript(nowLua, answerLua, enlistLua)
	withdrawScript    = newScript(nowLua, answerLua, waitersLua, withdrawLua)
)

// script is a script and the name that servers keep it under. Calls point at
// the two strings, so that handing them to go-redis allocates nothing.
type script struct{ source, sha string }

func newScript(parts ...string) *script {
	source := strings.Join(parts, "")
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// replaces reports whether it may answer scriptReplaced.
func (s *script) replaces() bool { return s == replaceScript || s == replaceBareScript }
