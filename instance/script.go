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

// The scripts. An acquisition needs none, see transaction.
var (
	extendScript     = newScript("clock run extend")
	liftScript       = newScript("clock run lift") // Raise, Restore and Pass
	tickScript       = newScript("clock run tick")
	lookScript       = newScript("clock look")
	releaseScript    = newScript("notify release")
	releaseOneScript = newScript("notify release_one")
	deleteScript     = newScript("delete")
	undoScript       = newScript("undo")
	enqueueScript    = newScript("clock enqueue")
	dequeueScript    = newScript("clock notify dequeue")
	markScript       = newScript("clock mark")
)

// script is a script, the SHA-1 under which servers keep it, and its bit in Redis.loaded.
type script struct {
	source, sha string
	bit         uint32
}

var scripts = 0 // how many there are

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
	scripts++
	return &script{source.String(), hex.EncodeToString(sum[:]), 1 << scripts}
}
