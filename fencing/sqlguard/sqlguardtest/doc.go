// Package sqlguardtest tests package sqlguard on real databases: SQLite in a
// file, and a PostgreSQL server that the tests start and stop themselves. It is a
// module of its own so that the drivers are no dependency of the library.
//
// Without PostgreSQL's programs its tests are skipped, or fail when
// REDLOCK_REQUIRE_POSTGRES is 1.
package sqlguardtest
