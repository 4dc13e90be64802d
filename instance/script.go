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

// The scripts. The first two are for many locks at once, and their reply is a list, which
// list reads. The other scripts make their replies with answer.lua, and decodeScript reads
// them. A usual grant takes no script, see transaction.go.
var (
	releaseScript = newScript("release notify release_notify")
	extendScript  = newScript("now run extend")

	acquireScript     = newScript("now run answer counter acquire")
	acquireBareScript = newScript("now run answer acquire")
	raiseScript       = newScript("now run answer token lift raise")
	restoreScript     = newScript("now run answer token lift restore")
	lookScript        = newScript("now answer token look")
	tickScript        = newScript("now run answer tick")
	markScript        = newScript("now answer mark")
	tryScript         = newScript("try")
	enqueueScript     = newScript("now answer enqueue")
	dequeueScript     = newScript("now answer notify dequeue")

	// For leases on several keys. Extensions and releases take the lists.
	acquireAllScript     = newScript("now run answer token counter acquire_all")
	acquireAllBareScript = newScript("now run answer acquire_all")
	liftAllScript        = newScript("now run answer token lift lift_all")
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
func (s *script) replaces() bool {
	return s == acquireScript || s == acquireBareScript || s == acquireAllScript || s == acquireAllBareScript
}

// list reports whether it is for many locks.
func (s *script) list() bool { return s == releaseScript || s == extendScript }
