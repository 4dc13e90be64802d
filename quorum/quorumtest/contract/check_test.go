package contract_test

import (
	"testing"

	"github.com/redquorum/redlock/quorum/quorumtest"
	"github.com/redquorum/redlock/quorum/quorumtest/contract"
	"github.com/redquorum/redlock/quorum/wire"
)

func TestNotifierPassesCheck(t *testing.T) {
	open := func(*testing.T) wire.Instance {
		return quorumtest.NotifyingServer{Server: quorumtest.NewServer("a", nil)}
	}
	contract.Check(t, open)
	contract.Check(t, open, contract.Virtual())
}
