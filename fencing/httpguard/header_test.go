package httpguard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/httpguard"
)

func TestSetHeader(t *testing.T) {
	req := &http.Request{} // with a nil Header
	assert.NoError(t, httpguard.SetHeader(req, 33))
	assert.NoError(t, httpguard.SetHeader(req, 34))
	got, err := httpguard.Header(req.Header)
	assert.NoError(t, err)
	assert.Equal(t, fencing.Token(34), got)
	assert.ErrorIs(t, httpguard.SetHeader(req, 0), fencing.ErrNoToken)
	assert.ErrorIs(t, httpguard.SetHeader(req, fencing.MaxToken+1), fencing.ErrBadToken)
	assert.Equal(t, []string{"34"}, req.Header.Values("Fencing-Token"), "a refusal leaves the header")
}

// FuzzHeader: for any values, the answer is either a token, and then its text is the one value, or
// one of the two errors; and a token that SetHeader wrote is read back.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "33", "33|34", "33|", "|", "0", " 33", "9007199254740991", "9007199254740992", "33,34", "٣"} {
		f.Add(s, uint64(33))
	}
	f.Fuzz(func(t *testing.T, joined string, n uint64) {
		values := strings.Split(joined, "|")
		got, err := httpguard.Header(http.Header{"Fencing-Token": values})
		if err == nil {
			assert.True(t, got.Valid())
			assert.Equal(t, []string{got.String()}, values)
		} else {
			assert.ErrorIs(t, err, fencing.ErrBadToken)
			assert.Zero(t, got)
		}

		req := &http.Request{Header: http.Header{"Fencing-Token": values}}
		if tok := fencing.Token(n); tok.Valid() {
			assert.NoError(t, httpguard.SetHeader(req, tok))
			back, err := httpguard.Header(req.Header)
			assert.NoError(t, err)
			assert.Equal(t, tok, back)
		} else {
			assert.Error(t, httpguard.SetHeader(req, tok))
		}
	})
}
