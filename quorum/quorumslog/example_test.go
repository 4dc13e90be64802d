package quorumslog_test

import (
	"log/slog"
	"os"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/quorum/quorumslog"
)

func Example() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))

	cfg := quorum.Config{Hooks: quorumslog.Hooks(logger)}

	// A Coordinator made with cfg calls these hooks.
	cfg.Hooks.Lost(quorum.LeaseEvent{Key: "reports/daily", Token: 33, Held: 9898 * time.Millisecond, Err: quorum.ErrExpired})
	cfg.Hooks.ClockJumped(quorum.ClockEvent{Instance: "redis-3:6379", Jump: drift.Jump{By: 15 * time.Second, Within: 2 * time.Second}})
	// Output:
	// level=WARN msg="lock lost" key=reports/daily token=33 validity=0s held=9.898s error="quorum: lease is lost: its deadline has passed"
	// level=ERROR msg="instance clock jumped" instance=redis-3:6379 by=15s within=2s
}
