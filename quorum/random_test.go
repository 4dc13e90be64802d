package quorum

import (
	"bytes"
	"crypto/rand"
	"regexp"
	"testing"
	"testing/iotest"
	"time"

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

func TestReaderThatFails(t *testing.T) {
	s := &random{reader: iotest.ErrReader(bytes.ErrTooLarge)}
	_, err := s.digits()
	require.ErrorIs(t, err, bytes.ErrTooLarge)
	require.Equal(t, time.Second, s.jitter(time.Second))
}
