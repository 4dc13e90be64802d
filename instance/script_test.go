//go:build unix

package instance

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

// What the proof of the tokens' order demands of the scripts, one test each.

// TestUnknownOperation is an error, not a panic.
func TestUnknownOperation(t *testing.T) {
	r, _ := mini(t, Config{})
	v := r.Do(within(t), wire.Request{Op: 99})
	require.True(t, failed(t, v, ErrConfig).Unsent)
	require.True(t, errors.Is(r.Do(within(t), wire.Request{}).Err, ErrConfig))
}
