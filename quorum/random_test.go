package quorum

import (
	"bytes"
	"crypto/rand"
	"regexp"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDrawnValues(t *testing.T) {
	s, seen := &random{reader: rand.Reader}, map[string]bool{}
	for range 1000 {
		value, err := s.digits()
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{40}$`), value)
		require.False(t, seen[value])
		seen[value] = true
	}
}

func TestJitterCoversItsRange(t *testing.T) {
	s, seen := &random{reader: rand.Reader}, map[time.Duration]bool{}
	for range 1000 {
		pause := s.jitter(9)
		require.GreaterOrEqual(t, pause, time.Duration(0))
		require.LessOrEqual(t, pause, time.Duration(9))
		seen[pause] = true
	}
	assert.Len(t, seen, 10)
	assert.Zero(t, s.jitter(0))
}

func TestReaderThatFails(t *testing.T) {
	s := &random{reader: iotest.ErrReader(bytes.ErrTooLarge)}
	_, err := s.digits()
	require.ErrorIs(t, err, bytes.ErrTooLarge)
	require.Equal(t, time.Second, s.jitter(time.Second))
}
