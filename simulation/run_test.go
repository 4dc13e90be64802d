package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBubble(t *testing.T) {
	ran := false
	require.NoError(t, bubble(func() { ran = true }))
	assert.True(t, ran)

	started := time.Now()
	require.NoError(t, bubble(func() { time.Sleep(time.Hour) }))
	assert.Less(t, time.Since(started), time.Minute, "it is a bubble")
}
