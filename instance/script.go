package instance

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

// The scripts' parts.
//
//go:embed scripts/*.lua
var parts embed.FS

// The scripts. The first three are for many requests at once, and their reply is a list, which
// list reads. The other scripts make their replies with answer.lua, and decodeScript reads
// them.
var (
	acquireScript = newScript("now run token counter acquire")
	extendScript  = newScript("now run extend")
	releaseScript = newScript("now release notify release_notify")

	liftScript    = newScript("now run answer token lift") // Raise and Restore
	lookScript    = newScript("now answer token look")
	tickScript    = newScript("now run answer tick")
	markScript    = newScript("now answer mark")
	tryScript     = newScript("try")
	enqueueScript = newScript("now answer enqueue")
	dequeueScript = newScript("now answer notify dequeue")
)

// script is a script and the SHA-1 under which servers keep it. Calls point at the two
// strings, which costs no allocation.
type script struct{ source, sha string }

// newScript joins parts, named without .lua.
func newScript(names string) *script {
	var source strings.Builder
	for name := range strings.FieldsSeq(names) {
		text, err := parts.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			panic(err) // a misspelled name in the list above
		}
		source.Write(text)
	}
	sum := sha1.Sum([]byte(source.String()))
	return &script{source: source.String(), sha: hex.EncodeToString(sum[:])}
}

// list reports whether it is for many requests.
func (s *script) list() bool { return s == acquireScript || s == extendScript || s == releaseScript }
