// Package sqlguard keeps the marks of a fencing.Guard in a database, beside the
// data that they protect, so that the check and the write are one transaction. It
// needs database/sql only and imports no driver. It works with PostgreSQL (9.5 or
// later), SQLite (3.35 or later), and MySQL (8.0 or later) and MariaDB (10.5 or
// later) with InnoDB. It is tested on MariaDB; for MySQL it relies on what the
// manuals of both say.
//
// There are two ways to keep the marks.
//
// A table of marks (Guard) has a row for each resource, whatever the resource is.
// Write begins a transaction, checks the token, runs a function in it, and commits:
//
//	err := guard.Write(ctx, "account/7", token, func(tx *sqlguard.WriteTx) error {
//		... read and write with tx ...
//	})
//	... errors.Is(err, fencing.ErrStale): a later holder has been here ...
//
// The check raises the mark and keeps its row locked until the end: an Admit or a
// check with a later token waits until the transaction is over. A rollback also
// undoes the mark, which is right, because it undoes everything written under it.
// CheckTx is the check alone, for a transaction of your own. Admit commits the mark
// on its own, before the first read of a holder that reads in one transaction and
// writes in another.
//
// CreateTable makes the table, or refuses the one that is there if a stale token
// could pass in it: with tokens as text 9 is larger than 10, and an unlogged table
// of PostgreSQL is empty after a crash. It also refuses a table that could take two
// resources for one. Its error says how to fix the table.
//
// A fence column (Table) keeps the mark in the row that it protects. There is no
// second table and no second lock, and it works with any statement of your own:
//
//	UPDATE accounts SET balance = $1, fence = $2 WHERE id = $3 AND COALESCE(fence, 0) <= $2
//
// Call fencing.Bound.Check first. If the statement changes no row, Table.Refusal
// distinguishes a stale token from a missing row;
// Table.UpdateTx does all three. In MySQL open the connection with
// clientFoundRows=true for that, or a statement that finds the row and sets what is
// there already counts as none; UpdateTx does not need it. Every statement that writes to the row must have
// the condition, and a deleted row loses its mark: mark rows as deleted instead.
//
// # Savepoints
//
// ROLLBACK TO SAVEPOINT undoes a check after the savepoint: its mark and its lock
// are gone, and a later holder can be admitted while the transaction continues under
// the smaller token. So call CheckTx before the first SAVEPOINT, as Write does. Code
// that cannot know whether it runs inside a savepoint calls CheckTx again after the
// rollback, and before Commit at the latest. This does not concern Table.UpdateTx:
// the rollback undoes the write itself.
//
// # MySQL and MariaDB
//
// CheckTx must be the first statement of its transaction, or Admit come before the
// transaction. At REPEATABLE READ, which is the default, the first SELECT fixes
// what all later ones see: after a SELECT before the check, the transaction would
// overwrite the last write of the holder before, although its own token passes.
// DDL commits, and so ends the check's lock: let none come between CheckTx and Commit.
//
// Config.Table names the database ("app.fencing_marks"), because each connection
// has one of its own choice. A temporary table of that name would hide it, from the
// connection that made it: make none. The engine must be InnoDB, as that of the data:
// a rollback takes nothing back in a table of MyISAM or Aria. There must be no other
// unique key than the resource: ON DUPLICATE KEY UPDATE looks at all of them.
// CreateTable checks both, the columns, and that its connection has autocommit, which is on by
// default: without it nothing commits an Admit, and its mark ends with the connection.
//
// A fence column must be a BIGINT: without strict mode MySQL cuts what doesn't fit,
// in silence, so that lower tokens would pass. sql_mode has STRICT_TRANS_TABLES by default.
//
// Run the whole transaction again after the errors 1213 (a deadlock), 1205 (a
// lock that was waited for too long; it leaves the transaction open, so roll back),
// and 1020 in MariaDB with innodb_snapshot_isolation. After a check, the connection's
// LAST_INSERT_ID is the mark.
//
// # Repair
//
// A mark that is too large, or is no token at all, refuses every holder. Find out
// who wrote it. Then, while no process that held an older lease runs (see
// fencing.Guard.Forget), set the mark to the present holder's token or delete it.
// In SQLite the table is main.fencing_marks, in MySQL the one that Config.Table names:
//
//	UPDATE public.fencing_marks SET token = 1767225600000042 WHERE resource = 'account/7';
//	DELETE FROM public.fencing_marks WHERE resource = 'account/7'; -- as Guard.Forget
//	UPDATE accounts SET fence = NULL WHERE id = 7;
//
// # Isolation, locks and errors
//
// The statements are right at READ COMMITTED, REPEATABLE READ and SERIALIZABLE.
// At the latter two PostgreSQL answers a mark that another transaction has
// raised since this one's snapshot with a serialization failure (SQLSTATE 40001)
// instead of a result. Errors of the database are returned as they are, wrapped: roll
// back and run the whole transaction again. The same goes for a deadlock (40P01);
// transactions over several resources avoid it by checking them in one order. If the
// database's default isolation is above READ COMMITTED, Admit and Check can fail with
// 40001 too, and can simply be called again.
//
// SQLite has one writer at a time: a check waits as long as the connection's
// busy_timeout says, then fails with SQLITE_BUSY, and nothing is changed. A transaction that has
// read before its CheckTx can fail with SQLITE_BUSY at once: let CheckTx come first,
// or begin with BEGIN IMMEDIATE.
//
// After a failed Commit, or an Admit or Check that failed in the network or whose
// context ended while it waited, it is unknown whether it took effect, or still
// will. Calling Admit or Check again is harmless.
//
// # What the database must do
//
// Keep what it has committed: synchronous_commit on in PostgreSQL, synchronous FULL (the
// default) in SQLite, innodb_flush_log_at_trx_commit 1 (the default) in MySQL. A failover to an
// asynchronous replica can lose marks, but it loses the data of the same transactions with them. Never
// read marks from a replica: a Guard's DB must be the primary. Where there are several, as in Galera,
// send all guards and all writes of a resource to one: the lock of a check is not on the others, and a
// holder that writes twice changes its mark only once.
package sqlguard
