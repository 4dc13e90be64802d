package main

import (
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/valkey-io/valkey-go/valkeylock"

	"github.com/redquorum/redlock/simulation/box/driver"
)

// valkeylockDriver is github.com/valkey-io/valkey-go/valkeylock on one server, as its README shows
// it.
func valkeylockDriver() driver.Driver {
	return contextDriver("valkeylock", "github.com/valkey-io/valkey-go", func(servers []string, ttl time.Duration) (locker, error) {
		return valkeylock.NewLocker(valkeylock.LockerOption{
			ClientOption:   valkey.ClientOption{InitAddress: servers},
			KeyMajority:    1,
			KeyValidity:    ttl,
			NoLoopTracking: true,
		})
	})
}
