package quorumtest_test

import (
	"testing"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestServerPassesCheck(t *testing.T) {
	quorumtest.Check(t, func(*testing.T) wire.Instance { return quorumtest.NewServer("a", nil) })
}

func TestServerPassesCheckInVirtualTime(t *testing.T) {
	quorumtest.Check(t, func(*testing.T) wire.Instance { return quorumtest.NewServer("a", nil) },
		quorumtest.Virtual(), quorumtest.Skew(0))
}

func TestListeningServerPassesCheck(t *testing.T) {
	open := func(*testing.T) wire.Instance {
		return quorumtest.NotifyingServer{Server: quorumtest.NewServer("a", nil)}
	}
	quorumtest.Check(t, open)
	quorumtest.Check(t, open, quorumtest.Virtual(), quorumtest.Skew(0))
}
