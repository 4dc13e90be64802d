// Package redis stands where redsync has its package redis: it says what a pool is.
package redis

import "github.com/redquorum/redlock/quorum/wire"

// Pool is one Redis server. goredis.NewPool makes one of a go-redis client.
type Pool interface {
	// Open makes the instance through which the lock uses the server. redsync.New calls it once,
	// and close when it is closed. It asks no server. The error says why the pool's client can't
	// be used.
	Open() (server wire.Instance, close func() error, err error)
}
