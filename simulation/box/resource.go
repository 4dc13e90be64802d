package box

// resource is what the clients' lock protects: a number that each holder reads and writes back,
// plus one. Its guard refuses a token that is smaller than one it has admitted.
type resource struct {
	content
	writesAlone bool // the guard sees no tokens of reads
	highest     uint64
}

// content is what the resource holds, and how often that was written.
type content struct{ value, version int }

// admit reports whether the guard admits the token, 0 for none.
func (r *resource) admit(token uint64) bool {
	if token == 0 {
		return true
	}
	if token < r.highest {
		return false
	}
	r.highest = token
	return true
}
