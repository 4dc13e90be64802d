// Package redismodel is the data of a Redis server: keys with their expiry, the commands that
// locks use, and scripts in Go. A Database knows no clock and no network: the caller says which
// commands arrive, and what the server's clock shows.
//
// It knows these commands, with their meaning in Redis 7 or in the product that is named:
//
//	SET key value [NX|XX] [EX s|PX ms|PXAT ms]
//	SETNX, SETEX, GET, DEL (one key), INCR, EXPIRE, PEXPIRE, PEXPIREAT
//	EVAL script numkeys key ... arg ...    CompareDel, CompareExpire, or one of the Database's scripts
//	CAD key value, CAS key old new PX ms   Tair
//
// A test compares the model with a real Redis, command by command.
package redismodel
