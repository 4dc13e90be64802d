// Package redismodel is the data of a Redis server: keys with their expiry, the commands that
// locks use, and scripts in Go. A Database knows no clock and no network: the caller says which
// commands arrive, and what the server's clock shows.
//
// It knows these commands, with their meaning in Redis 7 or in the product that is named:
//
//	SET key value [NX|XX] [EX s|PX ms|PXAT ms]
//	SETNX, SETEX, GET, DEL (one key), INCR, EXPIRE, PEXPIRE, PEXPIREAT
//	EVAL script numkeys key ... arg ...               a well-known script, such as CompareDel, or one of the Database's
//	CAD key value, CAS key old new PX ms              Tair
//	COMPAREDEL key value, COMPAREEXPIRE key value ms  the well-known scripts, as commands of this package
//
// COMPAREDEL deletes the key if it has the value, and COMPAREEXPIRE sets its expiry. The
// reply is 1 if it did, and 0 if not.
//
// A test compares the model with a real Redis, command by command.
package redismodel
