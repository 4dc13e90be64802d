//go:build !unix

package live

// PlayPart does nothing here: what it is for needs Unix.
func PlayPart() {}
