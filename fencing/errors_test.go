package fencing_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
)

func TestValidate(t *testing.T) {
	assert.NoError(t, fencing.Validate("r", 1))
	assert.NoError(t, fencing.Validate(strings.Repeat("x", fencing.MaxResourceLen), fencing.MaxToken))
	for _, c := range []struct {
		resource string
		token    fencing.Token
		want     error
		says     string
	}{
		{"", 1, fencing.ErrBadResource, "empty"},
		{strings.Repeat("x", fencing.MaxResourceLen+1), 1, fencing.ErrBadResource, "1025 bytes"},
		{"a\x00", 1, fencing.ErrBadResource, "NUL"},
		{"\xc3", 1, fencing.ErrBadResource, "UTF-8"},
		{"r", 0, fencing.ErrNoToken, `"r"`},
		{"r", fencing.MaxToken + 1, fencing.ErrBadToken, "9007199254740992"},
	} {
		err := fencing.Validate(c.resource, c.token)
		assert.ErrorIs(t, err, c.want)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestContext(t *testing.T) {
	got, ok := fencing.FromContext(t.Context())
	assert.False(t, ok)
	assert.Zero(t, got)

	ctx, cancel := context.WithCancel(fencing.NewContext(t.Context(), 33))
	cancel()
	got, ok = fencing.FromContext(ctx)
	assert.True(t, ok)
	assert.Equal(t, fencing.Token(33), got)

	got, _ = fencing.FromContext(fencing.NewContext(ctx, 34))
	assert.Equal(t, fencing.Token(34), got, "the innermost counts")

	_, ok = fencing.FromContext(fencing.NewContext(ctx, 0))
	assert.False(t, ok, "the zero token hides the outer one and is none")
}
