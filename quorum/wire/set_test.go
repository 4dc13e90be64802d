package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/quorum/wire"
)

func TestSetHasOneText(t *testing.T) {
	for text, set := range map[string]wire.Set{
		"@0 N=5 Q=3 MaxTTL=0s":                                      {N: 5, Q: 3},
		"main@7 N=3 Q=2 MaxTTL=30s":                                 {Name: "main", Version: 7, N: 3, Q: 2, MaxTTL: 30 * time.Second},
		"a.B_9-z@18446744073709551615 N=1 Q=1 MaxTTL=8760h0m0.001s": {Name: "a.B_9-z", Version: 1<<64 - 1, N: 1, Q: 1, MaxTTL: 365*24*time.Hour + time.Millisecond},
	} {
		assert.Equal(t, text, set.String())
		parsed, err := wire.ParseSet(text)
		require.NoError(t, err)
		assert.Equal(t, set, parsed)
	}
}

func TestSetTextThatIsNone(t *testing.T) {
	for _, text := range []string{
		"", "@", "main", "main@1", "main@1 N=5", "main@1 N=5 Q=", "main@1 N=5 Q=3", "main@1 N=5 Q=3 MaxTTL=", "main@1 N=5 Q=3 MaxTTL=30", "main@1 N=5 Q=3 MaxTTL=60s", "main@1 N=5 Q=3 MaxTTL=30s ", " main@1 N=5 Q=3 MaxTTL=30s",
		"main@1 Q=3 N=5", "main@1  N=5 Q=3 MaxTTL=30s", "main@-1 N=5 Q=3 MaxTTL=30s", "main@01 N=5 Q=3 MaxTTL=30s", "main@+1 N=5 Q=3 MaxTTL=30s", "main@1 N=05 Q=3 MaxTTL=30s",
		"main@1 N=5 Q=+3 MaxTTL=30s", "main@18446744073709551616 N=5 Q=3 MaxTTL=30s", "ma in@1 N=5 Q=3 MaxTTL=30s", "ma@in@1 N=5 Q=3 MaxTTL=30s", "mäin@1 N=5 Q=3 MaxTTL=30s",
		"main@1 N=5 Q=3 MaxTTL=30s\n", "main@1 N=5 Q=three MaxTTL=30s", strings.Repeat("x", 65) + "@1 N=5 Q=3 MaxTTL=30s",
	} {
		set, err := wire.ParseSet(text)
		assert.Error(t, err, "%q", text)
		assert.Zero(t, set)
	}
}

func TestSetSupersedes(t *testing.T) {
	old := wire.Set{Name: "main", Version: 3, N: 5, Q: 3}
	for want, sets := range map[bool][]wire.Set{
		true:  {{Name: "main", Version: 4, N: 5, Q: 3}, {Name: "main", Version: 9, N: 3, Q: 2}},
		false: {old, {Name: "main", Version: 2, N: 5, Q: 3}, {Name: "main", Version: 3, N: 7, Q: 4}, {Name: "other", Version: 4, N: 5, Q: 3}, {Version: 4}},
	} {
		for _, set := range sets {
			assert.Equal(t, want, set.Supersedes(old), "%v", set)
		}
	}
}

// Servers compare the text, so a set must have exactly one text, and a text one set.
func FuzzParseSet(f *testing.F) {
	for _, seed := range []string{"@0 N=5 Q=3 MaxTTL=30s", "main@7 N=3 Q=2 MaxTTL=1.5s", "a@01 N=+1 Q=-1 MaxTTL=-1s", "@@ N= Q= MaxTTL=", "x@1 N=5 Q=3 MaxTTL=60s "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := wire.ParseSet(text)
		if err != nil {
			require.Zero(t, set)
			return
		}
		require.Equal(t, text, set.String())
		require.LessOrEqual(t, len(set.Name), 64)
		require.False(t, set.Supersedes(set))
	})
}
