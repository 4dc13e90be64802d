package fencing_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func TestBoundLimit(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		bound fencing.Bound
		want  fencing.Token
	}{
		"a day by default":     {fencing.Bound{Now: at(day)}, fencing.Token(day.Add(24 * time.Hour).UnixMicro())},
		"an hour":              {fencing.Bound{Now: at(day), Ahead: time.Hour}, fencing.Token(day.Add(time.Hour).UnixMicro())},
		"less than a token":    {fencing.Bound{Now: at(day), Ahead: 1}, fencing.Token(day.UnixMicro())},
		"unbounded":            {fencing.Bound{Now: at(day), Ahead: fencing.Unbounded}, fencing.MaxToken},
		"nearly unbounded":     {fencing.Bound{Now: at(day), Ahead: fencing.Unbounded - 1}, fencing.MaxToken},
		"the year 2255":        {fencing.Bound{Now: at(time.UnixMicro(1 << 53))}, fencing.MaxToken},
		"the end of time":      {fencing.Bound{Now: at(time.UnixMicro(math.MaxInt64)), Ahead: fencing.Unbounded - 1}, fencing.MaxToken},
		"1970":                 {fencing.Bound{Now: at(time.Unix(0, 0)), Ahead: time.Second}, 1e6},
		"a clock before 1970":  {fencing.Bound{Now: at(time.Unix(-1, 0))}, 0},
		"unbounded at no time": {fencing.Bound{Now: at(time.Time{}), Ahead: fencing.Unbounded}, fencing.MaxToken},
	} {
		assert.Equal(t, c.want, c.bound.Limit(), name)
		assert.NoError(t, c.bound.Validate(), name)
	}
	now := time.Now()
	assert.GreaterOrEqual(t, fencing.Bound{}.Limit(), fencing.Token(now.Add(24*time.Hour).UnixMicro()))
	assert.LessOrEqual(t, fencing.Bound{}.Limit(), fencing.Token(now.Add(48*time.Hour).UnixMicro()))
}

func TestBoundCheck(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := fencing.Bound{Now: at(day), Ahead: time.Hour}
	limit := b.Limit()
	assert.NoError(t, b.Check("cart", 1))
	assert.NoError(t, b.Check("cart", limit))
	err := b.Check("cart", limit+1)
	assert.ErrorIs(t, err, fencing.ErrAhead)
	for _, other := range []error{fencing.ErrStale, fencing.ErrBadToken, fencing.ErrNoToken} {
		assert.NotErrorIs(t, err, other)
	}
	var ahead *fencing.AheadError
	require.ErrorAs(t, err, &ahead)
	assert.Equal(t, fencing.AheadError{Resource: "cart", Token: limit + 1, Limit: limit}, *ahead)
	for _, part := range []string{`"cart"`, (limit + 1).String(), limit.String(), "2026-01-01T01:00:00", "Bound.Ahead"} {
		assert.ErrorContains(t, err, part)
	}
	assert.ErrorIs(t, b.Check("cart", fencing.MaxToken+1), fencing.ErrBadToken, "what Validate refuses comes first")
	assert.ErrorIs(t, b.Check("", limit+1), fencing.ErrBadResource)
	assert.ErrorContains(t, fencing.Bound{Ahead: -time.Second}.Validate(), "Bound.Ahead is -1s")
}
