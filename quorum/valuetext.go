package quorum

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// A lock's value is 40 random hexadecimal digits, ":" and a signature if there is one. The
// signature is Config.Owner, and a space and Terms.Note if there is one. An owner has no space, so
// the first one ends it. A client that knows no notes shows "owner note" as the owner.

func signature(owner, note string) string {
	if note == "" {
		return owner
	}
	return owner + " " + note
}

func writeValue(random, owner, note string) string {
	if signed := signature(owner, note); signed != "" {
		return random + ":" + signed
	}
	return random
}

// readValue takes a value apart. Other programs' values may give anything.
func readValue(value string) (random, owner, note string) {
	random, signed, _ := strings.Cut(value, ":")
	owner, note, _ = strings.Cut(signed, " ")
	return random, owner, note
}

// shortValue is a value with a short hash in place of its random digits: enough to tell values apart,
// and not to release the lock. readValue reads it.
func shortValue(value string) string {
	random, signed, found := strings.Cut(value, ":")
	h := fnv.New32a()
	_, _ = h.Write([]byte(random))
	short := fmt.Sprintf("%08x", h.Sum32())
	if !found {
		return short
	}
	return short + ":" + signed
}
