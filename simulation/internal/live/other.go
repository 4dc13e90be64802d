//go:build !unix

package live

// RunChild does nothing here: what it is for needs Unix.
func RunChild() {}
