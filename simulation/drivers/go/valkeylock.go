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
	return driver.Driver{
		Hello: driver.Hello{
			Name: "valkeylock", Version: version("github.com/valkey-io/valkey-go"), Servers: "one",
			Can: []string{"wait", "tell"},
		},
		Open: func(_ string, servers []string, ttl time.Duration) (driver.Client, error) {
			locker, err := valkeylock.NewLocker(valkeylock.LockerOption{
				ClientOption:   valkey.ClientOption{InitAddress: servers},
				KeyMajority:    1,
				KeyValidity:    ttl,
				NoLoopTracking: true,
			})
			return contextLocker{locker}, err
		},
	}
}
