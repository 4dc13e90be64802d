package instance

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func every1() wire.Request { return wire.Request{Op: wire.Look, Keys: []string{"k"}} }

// TestBadConfig names the field.
func TestBadConfig(t *testing.T) {
	for field, cfgs := range map[string][]Config{
		"Config.Name":           {{Name: strings.Repeat("x", maxName+1)}, {Name: "a\nb"}, {Name: "\xff"}, {Name: "\x7f"}},
		"Config.Replicas":       {{Replicas: -1}, {Replicas: 1001}},
		"Config.ReplicaTimeout": {{ReplicaTimeout: -1}, {ReplicaTimeout: time.Microsecond}, {ReplicaTimeout: time.Hour}, {ReplicaTimeout: time.Millisecond + 1}},
		"Config.VouchedRunID":   {{VouchedRunID: strings.Repeat("a", 65)}, {VouchedRunID: "a b"}, {VouchedRunID: "run_id:x"}},
	} {
		for _, cfg := range cfgs {
			_, err := Open("redis://h", cfg)
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, field)
		}
	}
	r, err := Open("redis://h", Config{Name: "ä b", Replicas: 2})
	require.NoError(t, err)
	require.Equal(t, "ä b", r.Name())
	require.NoError(t, r.Close())
}
