// Package migrating has no code. Its tests have calls with other locks, and the same calls with this
// one, for docs/migrating.md.
package migrating
