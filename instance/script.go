package instance

import (
	"crypto/sha1"
	_ "embed" // for the scripts
	"encoding/hex"
)

var (
	//go:embed counter.lua
	counterLua string
	//go:embed acquire.lua
	acquireLua string
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
)

// The scripts. All answer in one form, which decodeScript reads: the nonce, a
// letter for the outcome, a text, a time to live, a token, and the server's
// clock.
var (
	acquireScript = newScript(counterLua + acquireLua)
	raiseScript   = newScript(counterLua + raiseLua)
	restoreScript = newScript(counterLua + restoreLua)
	extendScript  = newScript(extendLua)
	releaseScript = newScript(releaseLua)
	lookScript    = newScript(counterLua + lookLua)
)

// script is a script and the name that servers keep it under. Calls point at
// the two strings, so that handing them to go-redis allocates nothing.
type script struct{ source, sha string }

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}
