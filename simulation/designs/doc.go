// Package designs is the ways to lock with Redis that people use, as runs of package
// simulation can be played with them.
package designs
