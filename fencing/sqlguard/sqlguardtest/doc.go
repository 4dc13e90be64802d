// Package sqlguardtest tests package sqlguard on real databases: SQLite in a
// file, and a PostgreSQL and a MariaDB server that the tests start and stop
// themselves. It is a module of its own so that the drivers are no dependency of
// the library.
//
// Without the servers' programs their tests are skipped, or fail when
// REDLOCK_REQUIRE_POSTGRES or REDLOCK_REQUIRE_MARIADB is 1.
package sqlguardtest
