package instance

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

// The scripts' parts. testdata/scripts has the scripts as servers get them.
//
//go:embed *.lua
var parts embed.FS

// The scripts. The first two take many locks at once, and their reply is a list, which
// list.next reads. They begin with all that there is to do nearly always, and run the rest
// only where something is left. The other scripts make their replies with answer.lua, and
// decodeScript reads them.
var (
	acquireScript = newScript("now run counter acquire supersedes grant acquire_rest")
	releaseScript = newScript("release notify release_rest")

	replaceScript     = newScript("now run answer counter supersedes grant replace")
	replaceBareScript = newScript("now run answer replace")
	raiseScript       = newScript("now run answer token lift raise")
	restoreScript     = newScript("now run answer token lift restore")
	extendScript      = newScript("now run answer extend")
	lookScript        = newScript("now answer token look")
	tickScript        = newScript("now run answer tick")
	markScript        = newScript("now answer mark")
	enqueueScript     = newScript("now answer enqueue")
	dequeueScript     = newScript("now answer notify dequeue")
)

// script is a script and the SHA-1 under which servers keep it. Calls point at the two
// strings, which costs no allocation.
type script struct{ source, sha string }

// newScript joins parts, named without .lua.
func newScript(names string) *script {
	var source strings.Builder
	for name := range strings.FieldsSeq(names) {
		text, err := parts.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // a misspelled name in the list above
		}
		source.Write(text)
	}
	sum := sha1.Sum([]byte(source.String()))
	return &script{source: source.String(), sha: hex.EncodeToString(sum[:])}
}

// replaces reports whether it may answer scriptReplaced.
func (s *script) replaces() bool { return s == replaceScript || s == replaceBareScript }
