package instance

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

var (
	//go:embed answer.lua
	answerLua string
	//go:embed list.lua
	listLua string
	//go:embed counter.lua
	counterLua string
	//go:embed acquire.lua
	acquireLua string
	//go:embed supersedes.lua
	supersedesLua string
	//go:embed replace.lua
	replaceLua string
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
	//go:embed look.lua
	lookLua string
	//go:embed tick.lua
	tickLua string
)

// The scripts. Those that take many locks at once answer in the form of list.lua,
// which list.decode reads, the others in that of answer.lua, which decodeScript
// reads.
var (
	acquireScript  = newScript(listLua + counterLua + supersedesLua + acquireLua)
	releaseScript  = newScript(listLua + waitersLua + releaseLua)
	replaceScript  = newScript(answerLua + counterLua + supersedesLua + replaceLua)
	raiseScript    = newScript(answerLua + counterLua + raiseLua)
	restoreScript  = newScript(answerLua + counterLua + restoreLua)
	extendScript   = newScript(answerLua + extendLua)
	lookScript     = newScript(answerLua + counterLua + lookLua)
	tickScript     = newScript(answerLua + tickLua)
	enlistScript   = newScript(answerLua + enlistLua)
	withdrawScript = newScript(answerLua + waitersLua + withdrawLua)
)

// script is a script and the name that servers keep it under. Calls point at
// the two strings, so that handing them to go-redis allocates nothing.
type script struct{ source, sha string }

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}
